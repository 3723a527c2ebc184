// SPDX-License-Identifier: Apache-2.0
#include "util/digest_stream.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <new>
#include <type_traits>

namespace cudnn_tune {
namespace {

XXH3_state_t* state_in(std::byte* bytes) { return std::launder(reinterpret_cast<XXH3_state_t*>(bytes)); }
const XXH3_state_t* state_in(const std::byte* bytes) {
    return std::launder(reinterpret_cast<const XXH3_state_t*>(bytes));
}

}  // namespace

DigestStream::DigestStream() : m_state{} {
    static_assert(sizeof(XXH3_state_t) <= k_state_bytes && alignof(XXH3_state_t) <= 64);
    static_assert(std::is_trivially_copyable_v<XXH3_state_t>);
    XXH3_128bits_reset(::new (m_state) XXH3_state_t);
}

void DigestStream::add(std::string_view bytes) { XXH3_128bits_update(state_in(m_state), bytes.data(), bytes.size()); }

void DigestStream::add_counted(std::string_view bytes) {
    add_number(bytes.size());
    add(bytes);
}

// Least significant byte first: digests are shared between architectures.
void DigestStream::add_number(std::uint64_t value) {
    std::array<char, 8> bytes{};
    for (char& byte : bytes) {
        byte = static_cast<char>(value & 0xFF);
        value >>= 8;
    }
    add({bytes.data(), bytes.size()});
}

Digest DigestStream::finish() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(state_in(m_state));
    return {hash.high64, hash.low64};
}

}  // namespace cudnn_tune
