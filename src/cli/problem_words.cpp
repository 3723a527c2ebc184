// SPDX-License-Identifier: Apache-2.0
#include "cli/problem_words.hpp"

#include <algorithm>
#include <span>

#include "cli/terminal.hpp"

namespace cudnn_tune::cli {
namespace {

std::string list_of(std::span<const std::int64_t> numbers) {
    std::string text;
    for (const std::int64_t number : numbers) {
        text += (text.empty() ? "" : ",") + std::to_string(number);
    }
    return text;
}

std::string dims_of(const key::Tensor& tensor) {
    return "[" + list_of(std::span(tensor.dims).first(static_cast<std::size_t>(tensor.nb_dims))) + "]";
}

}  // namespace

std::string problem_words(const key::KeyText& key) {
    const Result<key::Problem> problem = key::parse_problem(key.problem);
    if (!problem) {
        return key.problem + " " + key.api;
    }
    std::string text = std::string(key::name_of(problem->direction)) + " " +
                       std::string(key::name_of_dtype(problem->x().dtype)) + dims_of(problem->x()) + " " +
                       dims_of(problem->w());
    const key::Convolution& convolution = problem->convolution;
    const auto nb_spatial = static_cast<std::size_t>(convolution.nb_spatial);
    const auto append_unless_1 = [&](const char* name, std::span<const std::int64_t> numbers) {
        if (std::ranges::any_of(numbers, [](std::int64_t number) { return number != 1; })) {
            text += std::string(" ") + name + "=" + list_of(numbers);
        }
    };
    append_unless_1("stride", std::span(convolution.strides).first(nb_spatial));
    append_unless_1("dil", std::span(convolution.dilations).first(nb_spatial));
    append_unless_1("groups", std::span(&convolution.groups, 1));
    if (key.problem.substr(0, key.problem.find(" w=")).ends_with(":nhwc")) {
        text += " nhwc";
    }
    // "… | add(y,t3)->t4 prec=f32 | …": the sections of operations are those with a parenthesis.
    std::string operations;
    for (std::size_t at = key.problem.find(" | "); at != std::string::npos; at = key.problem.find(" | ", at + 1)) {
        const std::string section = key.problem.substr(at + 3, key.problem.find(" | ", at + 1) - at - 3);
        if (const std::size_t name_end = section.find_first_of("=[("); section[name_end] == '(') {
            operations += "+" + section.substr(0, name_end);
        }
    }
    text += (operations.empty() ? "" : " ") + operations;
    return text + (key.api.starts_with("legacy") ? " legacy" : "");
}

std::string problem_cell(const key::KeyText& key) {
    return output_width() == k_no_width ? key.problem + " " + key.api : problem_words(key);
}

}  // namespace cudnn_tune::cli
