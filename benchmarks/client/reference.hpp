// SPDX-License-Identifier: Apache-2.0
// How exact a convolution's result is: some of its elements are computed again in double precision, from the same
// inputs.
#pragma once

#include <cstdint>
#include <functional>

#include "cli/shapes_file.hpp"

namespace cudnn_tune::benchmarks {

using cli::Operation;
using cli::Shape;

// The elements of a tensor by their position in memory.
using Elements = std::function<double(std::int64_t)>;

struct ReferenceInputs {
    Elements x;
    Elements w;
    Elements y;
};

// Takes about `samples` elements of the output, evenly spread and the same for every run; fewer where one costs many
// multiplications. Returns the largest |result - exact| / sum of |products|: 0 is exact, and a rounding of every input
// by r gives at most about 2 r, whatever cancels.
[[nodiscard]] double largest_error(const Shape&, const ReferenceInputs&, const Elements& output, int samples);

}  // namespace cudnn_tune::benchmarks
