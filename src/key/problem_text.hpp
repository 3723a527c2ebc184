// SPDX-License-Identifier: Apache-2.0
// The canonical, readable and invertible text of a problem and of its API part: `parse(to_text(p)) == p`, and two
// problems have the same text exactly if they are equal. Grammar: cache_format/FORMAT.md, section "Keys".
#pragma once

#include <string>
#include <string_view>

#include "key/problem.hpp"
#include "util/digest.hpp"
#include "util/result.hpp"

namespace cudnn_tune::key {

[[nodiscard]] std::string to_text(const Problem&);
[[nodiscard]] std::string to_text(const ApiPart&);
[[nodiscard]] Result<Problem> parse_problem(std::string_view);
[[nodiscard]] Result<ApiPart> parse_api_part(std::string_view);

// The names used in texts: "fwd", "bwd_data", "bwd_filter"; "f32", "f16", "bf16", "i8x4", …; "default", "tensor_op", …
[[nodiscard]] std::string_view name_of(Direction);
[[nodiscard]] std::string_view name_of_dtype(abi::DataType);  // "?" for a number that no version has
[[nodiscard]] std::string_view name_of_math(abi::MathType);

// The three texts of a key. The digest finds an entry; the texts confirm it.
struct KeyText {
    std::string problem;
    std::string api;
    std::string environment;
    bool operator==(const KeyText&) const = default;
    // XXH3-128 over the three texts joined by newlines.
    [[nodiscard]] Digest digest() const;
};

}  // namespace cudnn_tune::key
