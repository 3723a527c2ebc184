// SPDX-License-Identifier: Apache-2.0
// Which problems an offline tuning measures, and in which order. Pure but for reading files.
#pragma once

#include <string>
#include <vector>

#include "cache/record.hpp"
#include "cli/shapes_file.hpp"

namespace cudnn_tune::cli {

struct TuningProblem {
    std::string problem;  // texts of a key
    std::string api;
    std::string environment;     // that it was met in; empty: none, as of a shapes file
    double expected_saving = 0;  // of one run, in an unknown unit: only its order counts
    bool operator==(const TuningProblem&) const = default;
};

enum class TuningApi : std::uint8_t { graph, legacy, both };

// The entries of a cache file that wait for measuring (`wanted`, `provisional`); with `all` every entry, for tuning
// what another GPU's cache knows. Throws Failure as for_each_entry() does.
enum class WhichEntries : bool { waiting, all };
[[nodiscard]] std::vector<TuningProblem> problems_of_cache(const std::string& path, WhichEntries);

// As PyTorch would ask: packed tensors of 16 byte alignment, alpha 1 and beta 0 in fp32; for the legacy API the default
// math type of fp32 and tensor cores for fp16 and bf16. Nothing if the data type is not known.
[[nodiscard]] std::vector<TuningProblem> problems_of_shape(const Shape&, TuningApi);

// Largest expected saving first, each problem once.
void order_for_tuning(std::vector<TuningProblem>&);

}  // namespace cudnn_tune::cli
