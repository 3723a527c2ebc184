// SPDX-License-Identifier: Apache-2.0
// Whether two function types are called alike: as many arguments, each of the same size and of the same class.
#pragma once

#include <type_traits>

namespace cudnn_tune::sim {

template <typename A, typename B>
inline constexpr bool same_argument =
    std::is_void_v<A> == std::is_void_v<B>&& std::is_pointer_v<A> == std::is_pointer_v<B>;
// An opaque pointer may be `void*` on one side and an integer of that size is never one on the other.
template <typename A, typename B>
requires(!std::is_void_v<A> && !std::is_void_v<B>) inline constexpr bool same_argument<A, B> =
    sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>;

template <typename Ours, typename Theirs>
struct SameCall : std::false_type {};
template <typename R, typename... A, typename S, typename... B>
requires(sizeof...(A) == sizeof...(B)) struct SameCall<R(A...), S(B...)>
    : std::bool_constant<same_argument<R, S> && (same_argument<A, B> && ...)> {
};

}  // namespace cudnn_tune::sim
