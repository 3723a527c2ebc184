// SPDX-License-Identifier: Apache-2.0
// How functions inside the engine and the tool report failure: a value, or one of a few categories with a sentence.
// A damaged cache entry is `corrupt` and treated as a miss; a lock that does not come is `busy` and means "not stored".
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace cudnn_tune {

enum class ErrorCategory { not_found, corrupt, newer_version, busy, io, gpu, invalid };

struct [[nodiscard]] Error {
    ErrorCategory category;
    std::string message;
};

template <typename T>
class [[nodiscard]] Result {
  public:
    Result(T value) : m_state(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : m_state(std::in_place_index<1>, std::move(error)) {}

    [[nodiscard]] bool ok() const { return m_state.index() == 0; }
    explicit operator bool() const { return ok(); }
    // Requires ok().
    T& value() { return *std::get_if<0>(&m_state); }
    const T& value() const { return *std::get_if<0>(&m_state); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }
    T& operator*() { return value(); }
    const T& operator*() const { return value(); }
    // Requires !ok().
    const Error& error() const { return *std::get_if<1>(&m_state); }

  private:
    std::variant<T, Error> m_state;
};

// A result that carries nothing but success.
using Status = Result<std::monostate>;
inline Status ok_status() { return std::monostate{}; }

}  // namespace cudnn_tune
