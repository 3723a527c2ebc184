// SPDX-License-Identifier: Apache-2.0
// XXH3 digests and their text form (32 lower-case hexadecimal digits, most significant first).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace cudnn_tune {

struct Digest {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    auto operator<=>(const Digest&) const = default;
};

[[nodiscard]] Digest digest_of(std::string_view bytes);
[[nodiscard]] std::uint64_t checksum_of(std::string_view bytes);  // XXH3-64
[[nodiscard]] std::string to_hex(const Digest&);                  // 32 digits
[[nodiscard]] std::string to_hex(std::uint64_t);                  // 16 digits
// Exactly 32 hexadecimal digits (either case), else nothing.
[[nodiscard]] std::optional<Digest> parse_digest(std::string_view hex);

}  // namespace cudnn_tune

template <>
struct std::hash<cudnn_tune::Digest> {
    std::size_t operator()(const cudnn_tune::Digest& digest) const noexcept { return digest.low; }
};
