// SPDX-License-Identifier: Apache-2.0
// Records of the cache file as the engine would have measured them, with a preferred candidate of the test's choice.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cache/record.hpp"
#include "key/environment.hpp"
#include "real_library.hpp"

namespace cudnn_tune::test {

// The environment that a program which uses this library and its device description is in.
[[nodiscard]] key::Environment environment_of(const RealLibrary& library);

// Asks the library for all lists of the problem. The candidate at `preferred` (modulo its size) of the INSTANT list is
// the fastest. Nothing if the library refuses the problem, or if that list is empty.
[[nodiscard]] std::optional<cache::Record> make_record(const RealLibrary& library, const ConvolutionShape& shape,
                                                       const key::Environment& environment, std::size_t preferred);

// A cache file of these records.
void write_cache(const std::string& path, const std::vector<cache::Record>& records);

// As a program reads it.
[[nodiscard]] Configuration plain(const key::Candidate& candidate);

}  // namespace cudnn_tune::test
