// SPDX-License-Identifier: Apache-2.0
// A backend descriptor of our own, destroyed with its owner, and short forms of setting and getting its attributes.
#pragma once

#include <cstdint>
#include <utility>

#include "abi/backend.hpp"
#include "cudnn/real_cudnn.hpp"

namespace cudnn_tune::cudnn {

class OwnDescriptor {
  public:
    OwnDescriptor() = default;
    // Empty if the library refuses.
    OwnDescriptor(const RealCudnn& real, int type) : m_real(&real) {
        if (real.backend_create(type, &m_descriptor) != abi::k_success) {
            m_descriptor = nullptr;
        }
    }
    OwnDescriptor(OwnDescriptor&& other) noexcept { *this = std::move(other); }
    OwnDescriptor& operator=(OwnDescriptor&& other) noexcept {
        std::swap(m_real, other.m_real);
        std::swap(m_descriptor, other.m_descriptor);
        return *this;
    }
    OwnDescriptor(const OwnDescriptor&) = delete;
    OwnDescriptor& operator=(const OwnDescriptor&) = delete;
    ~OwnDescriptor() {
        if (m_descriptor != nullptr) {
            m_real->backend_destroy(m_descriptor);
        }
    }

    explicit operator bool() const { return m_descriptor != nullptr; }
    [[nodiscard]] abi::BackendDescriptor get() const { return m_descriptor; }

  private:
    const RealCudnn* m_real = nullptr;
    abi::BackendDescriptor m_descriptor = nullptr;
};

// One value of a type that the attribute takes by address.
template <typename T>
[[nodiscard]] abi::Status set_one(const RealCudnn& real, abi::BackendDescriptor descriptor, int name, int type,
                                  const T& value) {
    return real.backend_set(descriptor, name, type, 1, &value);
}

}  // namespace cudnn_tune::cudnn
