// SPDX-License-Identifier: Apache-2.0
// A mutex for sections of well under a microsecond that may be held by another thread at the moment of a fork. In the
// child nobody will ever release it, so there it is given up after a while instead of waited for.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <atomic>

namespace cudnn_tune {

class ForkAwareMutex {
  public:
    // False only in a forked child whose parent's thread held it: what it guards is lost to this process.
    [[nodiscard]] bool lock() {
        for (unsigned tries = 1; m_taken.exchange(true, std::memory_order_acquire); ++tries) {
            ::sched_yield();
            // getpid() is a system call: asked for rarely, and only when something is wrong already.
            if (tries % 1024 == 0 && ::getpid() != m_process) {
                return false;
            }
        }
        return true;
    }
    void unlock() { m_taken.store(false, std::memory_order_release); }

  private:
    std::atomic<bool> m_taken{false};
    const pid_t m_process = ::getpid();
};

class ForkAwareLock {
  public:
    explicit ForkAwareLock(ForkAwareMutex& mutex) : m_mutex(mutex), m_held(mutex.lock()) {}
    ForkAwareLock(const ForkAwareLock&) = delete;
    ForkAwareLock& operator=(const ForkAwareLock&) = delete;
    ~ForkAwareLock() {
        if (m_held) {
            m_mutex.unlock();
        }
    }
    [[nodiscard]] bool held() const { return m_held; }

  private:
    ForkAwareMutex& m_mutex;
    bool m_held;
};

}  // namespace cudnn_tune
