// SPDX-License-Identifier: Apache-2.0
// Numbers and codes of an entry in the words of the field, for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cache/record.hpp"
#include "key/environment.hpp"
#include "key/problem.hpp"

namespace cudnn_tune::cli {

[[nodiscard]] std::string duration_text(std::int64_t duration_ns);  // "812 ns", "80.2 us", "1.23 ms"; "-" below 0
[[nodiscard]] std::string size_text(std::int64_t bytes);            // "0", "512 B", "12.0 MiB"
[[nodiscard]] std::string ratio_text(double ratio);                 // "1.50"; "-" if not above 0

// "NVIDIA H200, cuDNN 9.19.0, compute capability 9.0, 132 SMs".
[[nodiscard]] std::string environment_text(const key::Environment&);

// "WINOGRAD, tensor_op math" or "engine 5, knobs 2=3 7=1".
[[nodiscard]] std::string choice_text(const cache::Choice&, key::Direction);
// cuDNN's notes on a candidate: "tensor cores", "needs run-time compilation", "not deterministic".
[[nodiscard]] std::vector<std::string> notes_of(const cache::Candidate&);
// Why a candidate was not measured, as a clause: "it needs more workspace than may be used".
[[nodiscard]] std::string not_run_text(const cache::Candidate&);

}  // namespace cudnn_tune::cli
