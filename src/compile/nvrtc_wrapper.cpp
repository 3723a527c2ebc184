// SPDX-License-Identifier: Apache-2.0
// The functions that stand in for NVRTC's. A C function knows no more than its arguments, so each real library gets its
// own set of instances. Everything here is constant-initialised and never destroyed: a wrapper may be called at any
// time, also from other libraries' exit handlers and in a child of fork.
#include <pthread.h>

#include <array>
#include <string_view>
#include <utility>

#include "compile/compile_cache.hpp"
#include "util/log.hpp"

namespace cudnn_tune::compile {
namespace {

using abi::NvrtcProgram;
using abi::NvrtcResult;

// A process with more than one NVRTC is rare (two CUDA versions in one Python environment); with more than this, the
// others are left alone.
constexpr std::size_t k_library_slots = 4;
// How often a fork tries to get the lock, a millisecond apart. It is held for microseconds; only a fork inside a signal
// handler that interrupted the holder tries in vain.
constexpr int k_fork_attempts = 200;
constexpr std::int64_t k_fork_pause_ns = 1'000'000;

constinit std::array<std::atomic<const NvrtcLibrary*>, k_library_slots> g_libraries{};
constinit std::atomic<CompileCache*> g_cache{nullptr};
// Whether this thread, which forks, got the lock. Of the thread: several may fork at once.
constinit thread_local bool t_fork_holds_lock = false;

// Ours if that can be had, else the real call. `ours` must not throw once it has made the real call.
template <typename Ours, typename Real>
NvrtcResult answer(Ours ours, Real real) noexcept {
    CompileCache* cache = g_cache.load(std::memory_order_acquire);
    if (cache != nullptr && cache->usable()) {
        try {
            return ours(*cache);
        } catch (...) {
            log_debug("NVRTC is called directly: out of memory");
        }
    }
    return real();
}

template <std::size_t slot>
struct Wrappers {
    static const NvrtcLibrary& library() { return *g_libraries[slot].load(std::memory_order_acquire); }

    static NvrtcResult create(NvrtcProgram* program, const char* source, const char* name, int header_count,
                              const char* const* headers, const char* const* include_names) noexcept {
        return answer(
            [&](CompileCache& cache) {
                return cache.create(library(), program, {source, name, header_count, headers, include_names});
            },
            [&] { return library().real.create(program, source, name, header_count, headers, include_names); });
    }
    static NvrtcResult destroy(NvrtcProgram* program) noexcept {
        return answer([&](CompileCache& cache) { return cache.destroy(library(), program); },
                      [&] { return library().real.destroy(program); });
    }
    static NvrtcResult compile(NvrtcProgram program, int option_count, const char* const* options) noexcept {
        return answer([&](CompileCache& cache) { return cache.compile(library(), program, option_count, options); },
                      [&] { return library().real.compile(program, option_count, options); });
    }
    static NvrtcResult add_name_expression(NvrtcProgram program, const char* expression) noexcept {
        return answer([&](CompileCache& cache) { return cache.add_name_expression(library(), program, expression); },
                      [&] { return library().real.add_name_expression(program, expression); });
    }
    static NvrtcResult lowered_name(NvrtcProgram program, const char* expression, const char** lowered) noexcept {
        return answer([&](CompileCache& cache) { return cache.lowered_name(library(), program, expression, lowered); },
                      [&] { return library().real.lowered_name(program, expression, lowered); });
    }
    template <const Output& output>
    static NvrtcResult size(NvrtcProgram program, std::size_t* bytes) noexcept {
        return answer([&](CompileCache& cache) { return cache.size_of(library(), program, output, bytes); },
                      [&] { return (library().real.*output.real).size(program, bytes); });
    }
    template <const Output& output>
    static NvrtcResult bytes(NvrtcProgram program, char* target) noexcept {
        return answer([&](CompileCache& cache) { return cache.bytes_of(library(), program, output, target); },
                      [&] { return (library().real.*output.real).bytes(program, target); });
    }

    // Null for a name that is not wrapped.
    static void* find(std::string_view name, const NvrtcFunctions& real) {
        const auto pointer = [](auto function) { return reinterpret_cast<void*>(function); };
        const std::pair<std::string_view, void*> table[] = {
            {"nvrtcCreateProgram", pointer(&create)},
            {"nvrtcDestroyProgram", pointer(&destroy)},
            {"nvrtcCompileProgram", pointer(&compile)},
            {"nvrtcAddNameExpression", pointer(&add_name_expression)},
            {"nvrtcGetLoweredName", pointer(&lowered_name)},
            {"nvrtcGetCUBINSize", real.cubin.exists() ? pointer(&size<k_cubin>) : nullptr},
            {"nvrtcGetCUBIN", real.cubin.exists() ? pointer(&bytes<k_cubin>) : nullptr},
            {"nvrtcGetPTXSize", pointer(&size<k_ptx>)},
            {"nvrtcGetPTX", pointer(&bytes<k_ptx>)},
            {"nvrtcGetLTOIRSize", real.ltoir.exists() ? pointer(&size<k_ltoir>) : nullptr},
            {"nvrtcGetLTOIR", real.ltoir.exists() ? pointer(&bytes<k_ltoir>) : nullptr},
            {"nvrtcGetProgramLogSize", pointer(&size<k_log>)},
            {"nvrtcGetProgramLog", pointer(&bytes<k_log>)},
        };
        for (const auto& [known, function] : table) {
            if (known == name) {
                return function;
            }
        }
        return nullptr;
    }
};

template <std::size_t... slots>
void* find_in_slot(std::size_t slot, std::string_view name, const NvrtcFunctions& real,
                   std::index_sequence<slots...> /*all*/) {
    void* found = nullptr;
    ((slot == slots ? void(found = Wrappers<slots>::find(name, real)) : void()), ...);
    return found;
}

// The slot of the library with this load address, which is made if there is room. Never fails twice differently: a
// library that got a slot keeps it.
std::size_t slot_of(const void* address, FindSymbolFn find) {
    const void* base = object_base(address);
    std::unique_ptr<NvrtcLibrary> opened;
    for (std::size_t slot = 0; base != nullptr && slot < k_library_slots; ++slot) {
        const NvrtcLibrary* library = g_libraries[slot].load(std::memory_order_acquire);
        if (library == nullptr) {
            if (!opened && !(opened = open_nvrtc_library(address, find))) {
                return k_library_slots;
            }
            if (g_libraries[slot].compare_exchange_strong(library, opened.get(), std::memory_order_acq_rel)) {
                (void)opened.release();
                return slot;
            }
        }
        if (library->base == base) {
            return slot;
        }
    }
    return k_library_slots;
}

}  // namespace

void* CompileCache::wrap(const char* name, void* real) noexcept {
    if (m_mode == CompileMode::off || name == nullptr || real == nullptr) {
        return real;
    }
    try {
        CompileCache* active = nullptr;
        if (!g_cache.compare_exchange_strong(active, this, std::memory_order_acq_rel) && active != this) {
            return real;
        }
        watch_forks();
        const std::size_t slot = slot_of(real, m_find);
        if (slot == k_library_slots) {
            return real;
        }
        const NvrtcLibrary& library = *g_libraries[slot].load(std::memory_order_acquire);
        void* wrapper = find_in_slot(slot, name, library.real, std::make_index_sequence<k_library_slots>());
        return wrapper != nullptr ? wrapper : real;
    } catch (...) {
        return real;
    }
}

CompileCache::~CompileCache() {
    CompileCache* self = this;
    (void)g_cache.compare_exchange_strong(self, nullptr, std::memory_order_acq_rel);
}

void CompileCache::watch_forks() {
    static std::atomic<bool> watched{false};
    if (!watched.exchange(true)) {
        (void)::pthread_atfork(&before_fork, &after_fork_in_parent, &after_fork_in_child);
    }
}

void CompileCache::before_fork() noexcept {
    if (CompileCache* cache = g_cache.load(std::memory_order_acquire)) {
        for (int i = 0; i < k_fork_attempts && !t_fork_holds_lock; ++i) {
            if (i > 0) {
                system_clock().sleep_ns(k_fork_pause_ns);
            }
            t_fork_holds_lock = cache->m_mutex.try_lock();
        }
    }
}

void CompileCache::after_fork_in_parent() noexcept {
    CompileCache* cache = g_cache.load(std::memory_order_acquire);
    if (cache != nullptr && std::exchange(t_fork_holds_lock, false)) {
        cache->m_mutex.unlock();
    }
}

void CompileCache::after_fork_in_child() noexcept {
    CompileCache* cache = g_cache.load(std::memory_order_acquire);
    if (cache == nullptr) {
        return;
    }
    if (!std::exchange(t_fork_holds_lock, false)) {
        cache->m_usable.store(false, std::memory_order_relaxed);
        return;
    }
    // The threads that were compiling do not exist here. Their marks are left where they are, not freed: such a thread
    // may have held the lock of one.
    try {
        (void)new auto(std::move(cache->m_flights));
    } catch (...) {
        cache->m_usable.store(false, std::memory_order_relaxed);
    }
    cache->m_flights.clear();
    cache->m_mutex.unlock();
}

}  // namespace cudnn_tune::compile
