// SPDX-License-Identifier: Apache-2.0
// The names that texts use for cuDNN's numbers. A number without a name is written as its table's prefix and the number
// (`dtype99`, `math7`), so a newer cuDNN's values are kept exactly. Names are part of the file format: never change
// one.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cudnn_tune::key {

struct NamedNumber {
    int number;
    std::string_view name;
};

struct NameTable {
    std::string_view prefix;
    std::span<const NamedNumber> names;
};

extern const NameTable k_data_type_names;            // cudnnDataType_t
extern const NameTable k_math_type_names;            // cudnnMathType_t
extern const NameTable k_reorder_type_names;         // cudnnReorderType_t
extern const NameTable k_convolution_mode_names;     // cudnnConvolutionMode_t
extern const NameTable k_tensor_reordering_names;    // cudnnBackendTensorReordering_t
extern const NameTable k_pointwise_mode_names;       // cudnnPointwiseMode_t
extern const NameTable k_pointwise_attribute_names;  // cudnnBackendAttributeName_t of pointwise operations
extern const NameTable k_attribute_type_names;       // cudnnBackendAttributeType_t of alpha and beta

// The name alone; "?" if the number has none.
[[nodiscard]] std::string_view find_name(const NameTable&, int number);
// The name, or prefix and number.
void append_name(std::string& text, const NameTable&, int number);
// The inverse of append_name. Nothing if `word` is neither a name nor prefix and number.
[[nodiscard]] std::optional<int> find_number(const NameTable&, std::string_view word);

}  // namespace cudnn_tune::key
