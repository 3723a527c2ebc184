// SPDX-License-Identifier: Apache-2.0
// The XXH3-128 digest of text that comes in pieces, so that megabytes need not be joined first. A copy goes on from
// where the original is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "util/digest.hpp"

namespace cudnn_tune {

class DigestStream {
  public:
    DigestStream();

    void add(std::string_view bytes);
    // The length goes before the bytes, so that ("ab", "c") and ("a", "bc") differ.
    void add_counted(std::string_view bytes);
    void add_number(std::uint64_t value);
    [[nodiscard]] Digest finish() const;

  private:
    // xxHash's state: its size and alignment are checked in the .cpp file, the only one that sees xxHash.
    static constexpr std::size_t k_state_bytes = 576;
    alignas(64) std::byte m_state[k_state_bytes];
};

}  // namespace cudnn_tune
