// SPDX-License-Identifier: Apache-2.0
// Numbers and codes of an entry in the words of the field, for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cache/record.hpp"
#include "cli/terminal.hpp"
#include "key/environment.hpp"
#include "key/problem.hpp"
#include "util/digest.hpp"

namespace cudnn_tune::cli {

[[nodiscard]] std::string duration_text(std::int64_t duration_ns);  // "812 ns", "80.2 us", "1.23 ms"; "-" below 0
[[nodiscard]] std::string size_text(std::int64_t bytes);            // "0", "512 B", "12.0 MiB"
[[nodiscard]] std::string ratio_text(double ratio);                 // "1.50"; "-" if not above 0

inline constexpr std::size_t k_short_digest = 12;  // digits that tables show
[[nodiscard]] std::string short_digest(const Digest&);
// "9.19.0" of 91900, "8.9.7" of 8907.
[[nodiscard]] std::string version_text(int cudnn_version);
[[nodiscard]] Style style_of_ratio(double ratio);

// "NVIDIA H200, cuDNN 9.19.0, compute capability 9.0, 132 SMs".
[[nodiscard]] std::string environment_text(const key::Environment&);
// The same for the text of a key; the text itself if it cannot be read.
[[nodiscard]] std::string environment_words(const std::string& text);

// "WINOGRAD, tensor_op math" or "engine 5, knobs 2=3 7=1".
[[nodiscard]] std::string choice_text(const cache::Choice&, key::Direction);
// cuDNN's notes on a candidate: "tensor cores", "needs run-time compilation", "not deterministic".
[[nodiscard]] std::vector<std::string> notes_of(const cache::Candidate&);
// What a person should know of a candidate beside its numbers: that it is denied, why it was not run or
// that it failed, and its notes.
[[nodiscard]] std::string remarks_text(const cache::Record&, const cache::Candidate&);
// Why a candidate was not measured, as a clause: "it needs more workspace than may be used".
[[nodiscard]] std::string not_run_text(const cache::Candidate&);

}  // namespace cudnn_tune::cli
