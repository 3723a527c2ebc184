// SPDX-License-Identifier: Apache-2.0
#include "util/digest.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <charconv>

namespace cudnn_tune {

Digest digest_of(std::string_view bytes) {
    const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
    return {hash.high64, hash.low64};
}

std::uint64_t checksum_of(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::string to_hex(std::uint64_t value) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text(16, '0');
    for (int i = 15; i >= 0; --i, value >>= 4) {
        text[static_cast<std::size_t>(i)] = digits[value & 15];
    }
    return text;
}

std::string to_hex(const Digest& digest) { return to_hex(digest.high) + to_hex(digest.low); }

std::optional<Digest> parse_digest(std::string_view hex) {
    if (hex.size() != 32) {
        return std::nullopt;
    }
    Digest digest;
    for (auto [part, target] : {std::pair{hex.substr(0, 16), &digest.high}, std::pair{hex.substr(16), &digest.low}}) {
        const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), *target, 16);
        if (error != std::errc() || end != part.data() + part.size()) {
            return std::nullopt;
        }
    }
    return digest;
}

}  // namespace cudnn_tune
