// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "samples.hpp"

namespace cudnn_tune::select {

std::vector<RealProblem> read_real_lists() {
    std::vector<RealProblem> problems;
    for (const auto& entry : std::filesystem::directory_iterator(CUDNN_TUNE_TEST_DATA "/real_lists")) {
        if (entry.path().extension() != ".json") {
            continue;
        }
        std::ifstream stream(entry.path());
        const nlohmann::json file = nlohmann::json::parse(stream);
        for (const auto& problem : file.at("problems")) {
            RealProblem& real = problems.emplace_back();
            real.problem = problem.at("problem");
            for (const auto& [mode, list] : problem.at("lists").items()) {
                for (std::size_t rank = 0; rank < list.size(); ++rank) {
                    cache::Candidate& candidate = real.candidates.emplace_back();
                    candidate.choice = cache::GraphChoice{list[rank].at(0), list[rank].at(1)};
                    candidate.mode = std::stoi(mode);
                    candidate.rank = static_cast<int>(rank);
                    candidate.workspace_bytes = list[rank].at(2);
                    candidate.numerical_notes = list[rank].at(3);
                    candidate.behavior_notes = list[rank].at(4);
                }
            }
        }
    }
    return problems;
}

}  // namespace cudnn_tune::select
