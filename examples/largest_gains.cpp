// SPDX-License-Identifier: Apache-2.0
// Prints the problems of a cache file that gained most over cuDNN's own choice, and looks one of them up again.
//   largest_gains CACHE-FILE
#include <algorithm>
#include <cstdio>
#include <cudnn_tune/cache.hpp>
#include <string>
#include <vector>

namespace {

struct Gain {
    std::int64_t saved_ns;
    std::string problem;
    std::string api;
    std::string environment;
};

constexpr std::size_t k_most_printed = 10;

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: largest_gains CACHE-FILE\n");
        return 2;
    }
    try {
        cudnn_tune::CacheFile file(argv[1]);
        std::vector<Gain> gains;
        const std::size_t nb_damaged = file.for_each([&](const cudnn_tune::CacheEntry& entry) {
            const cudnn_tune::EntryCandidate* const tuned = entry.tuned();
            if (tuned != nullptr && entry.heuristic && entry.candidates[*entry.heuristic].is_measured()) {
                const std::int64_t saved_ns = entry.candidates[*entry.heuristic].time_ns - tuned->time_ns;
                gains.push_back({saved_ns, entry.problem, entry.api, entry.environment});
            }
            return true;
        });
        std::sort(gains.begin(), gains.end(), [](const Gain& a, const Gain& b) { return a.saved_ns > b.saved_ns; });
        for (std::size_t i = 0; i < std::min(gains.size(), k_most_printed); ++i) {
            std::printf("%9.1f us saved  %s\n", static_cast<double>(gains[i].saved_ns) / 1e3, gains[i].problem.c_str());
        }
        if (!gains.empty()) {
            const auto entry = file.find(gains[0].problem, gains[0].api, gains[0].environment);
            if (entry) {
                std::printf("the first one uses %s, measured %s by %s\n", entry->tuned()->choice.c_str(),
                            entry->when.c_str(), entry->by.c_str());
            }
        }
        if (nb_damaged > 0) {
            std::fprintf(stderr, "%zu damaged lines were left out\n", nb_damaged);
        }
    } catch (const cudnn_tune::CacheError& error) {
        std::fprintf(stderr, "largest_gains: %s\n", error.what());
        return 1;
    }
    return 0;
}
