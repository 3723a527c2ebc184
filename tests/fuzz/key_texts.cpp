// SPDX-License-Identifier: Apache-2.0
// Key texts are canonical: whatever is understood is written in exactly the same way.
#include "fuzz_target.hpp"
#include "key/environment.hpp"
#include "key/problem_text.hpp"

FUZZ_TARGET(key_texts) {
    using namespace cudnn_tune;
    using namespace cudnn_tune::fuzz;
    const std::string_view text = text_of(data, size);
    if (const auto problem = key::parse_problem(text)) {
        require(key::to_text(*problem) == text, "the text of a problem is the one that was read");
    }
    if (const auto part = key::parse_api_part(text)) {
        require(key::to_text(*part) == text, "the text of an API part is the one that was read");
    }
    if (const auto environment = key::parse_environment(text)) {
        require(key::to_text(*environment) == text, "the text of an environment is the one that was read");
    }
    return 0;
}
