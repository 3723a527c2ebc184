// SPDX-License-Identifier: Apache-2.0
// Convolution problems from shapes/*.csv. Columns are found by name; those of absent dimensions are empty.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cudnn_tune::cli {

enum class Operation : std::uint8_t { forward, backward_data, backward_filter };

struct Shape {
    std::string id;
    std::string source;
    std::string model;
    std::string note;
    Operation operation = Operation::forward;
    std::string dtype;  // "fp32", "fp16", "bf16", "fp64"
    bool is_channels_last = false;
    // batch, channels, then 2 or 3 spatial dimensions; the filter: output channels, channels of a group, spatial
    std::vector<int> x;
    std::vector<int> w;
    std::vector<int> y;
    std::vector<int> pads;
    std::vector<int> strides;
    std::vector<int> dilations;
    int groups = 1;
};

struct ShapesFile {
    std::vector<Shape> shapes;
    std::vector<std::string> left_out;  // rows that do not describe a whole problem: which, and why
};
// Throws std::runtime_error if there is no such file.
[[nodiscard]] ShapesFile read_shapes(const std::string& path);

}  // namespace cudnn_tune::cli
