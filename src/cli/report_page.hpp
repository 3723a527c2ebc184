// SPDX-License-Identifier: Apache-2.0
// The page that `report` writes, in three parts: what comes before the entries, an object an entry, the rest. One file
// without references to others. What a cache file holds gets into it only as JSON in which no character has a meaning
// for HTML, and the page's policy runs no script but its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/cache_contents.hpp"

namespace cudnn_tune::cli {

struct PageFacts {
    std::string title;
    std::string file;   // as the person named it
    std::string when;   // UTC
    std::string nonce;  // new for every page, of characters that need no escape
    std::size_t nb_total = 0;
    std::size_t nb_damaged = 0;
    std::vector<std::string> environments;  // in words; entries name them by index
};

[[nodiscard]] std::string page_start(const PageFacts&);
[[nodiscard]] std::string page_entry(const Entry&, std::size_t environment);  // without separator
[[nodiscard]] std::string page_end(const PageFacts&);

// A problem in a few words: "fwd f16 [32,64,56,56] * [64,64,3,3] nhwc pad=1,1 stride=2,2 + relu_fwd". The text itself
// if it cannot be read.
[[nodiscard]] std::string problem_label(const std::string& problem_text);

// JSON for a script element: "<", ">" and "&" become escapes.
[[nodiscard]] std::string escaped_for_script(const std::string& json);

}  // namespace cudnn_tune::cli
