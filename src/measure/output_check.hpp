// SPDX-License-Identifier: Apache-2.0
// Whether two kernels computed the same: outputs of one problem on the same inputs, compared as numbers of their type.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "abi/cudnn.hpp"

namespace cudnn_tune::measure {

// Where nothing was written, an output still holds this byte: as a number of any floating-point type it is one that may
// be read (a graph with beta reads its output), and no result is likely to be it.
inline constexpr std::uint8_t k_untouched_byte = 0x3d;

struct Difference {
    double error = 0;              // norm of the difference over that of the reference
    double largest = 0;            // largest difference of one element over the reference's root mean square
    std::int64_t not_numbers = 0;  // where the reference has numbers
    std::int64_t compared = 0;
};

struct Limits {
    double error;
    double largest;
};
// What kernels that are both right may differ by: sums in another order and in the precision that the notes of cuDNN
// admit. Winograd on float tensors came to 5e-4 of the sum of magnitudes (seen), which is some percent of a result of
// random values; a wrong kernel is off by the results themselves.
[[nodiscard]] Limits limits_of(abi::DataType);

// Nothing if the type cannot be read here, or the reference has no numbers but zero: then it says nothing. Elements
// that both left untouched (gaps between the rows of a strided tensor) do not count.
[[nodiscard]] std::optional<Difference> compare(std::span<const std::uint8_t> reference,
                                                std::span<const std::uint8_t> output, abi::DataType);

[[nodiscard]] inline bool is_within(const Difference& difference, const Limits& limits) {
    return difference.not_numbers == 0 && difference.error <= limits.error && difference.largest <= limits.largest;
}

}  // namespace cudnn_tune::measure
