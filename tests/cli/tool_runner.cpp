// SPDX-License-Identifier: Apache-2.0
#include "tool_runner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "cache/record_codec.hpp"

namespace cudnn_tune::testing {

Folder::Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "cudnn-tune-cli-XXXXXX").string();
    m_path = mkdtemp(pattern.data());
}

Folder::~Folder() {
    std::error_code error;
    std::filesystem::remove_all(m_path, error);
}

std::string Folder::path(const std::string& name) const { return name.empty() ? m_path : m_path / name; }

ChildResult run_tool(std::vector<std::string> arguments, const ChildOptions& options) {
    arguments.insert(arguments.begin(), TOOL);
    return run_child(arguments, options);
}

std::string read_text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string contents_of(const Folder& folder) {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
        paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    std::string all;
    for (const auto& path : paths) {
        if (std::filesystem::is_symlink(path)) {
            all += path.string() + " -> " + std::filesystem::read_symlink(path).string() + "\n";
            continue;
        }
        const bool is_file = std::filesystem::is_regular_file(path);
        all += path.string() + " " + std::to_string(std::filesystem::last_write_time(path).time_since_epoch().count()) +
               "\n" + (is_file ? read_text(path) : "") + "\n";
    }
    return all;
}

std::string run_on_terminal(std::vector<std::string> arguments, int columns, const ChildOptions& options) {
    std::string command = "stty cols " + std::to_string(columns) + " && exec " TOOL;
    for (const std::string& argument : arguments) {
        command += " '" + argument + "'";
    }
    const ChildResult result = run_child({"script", "-qec", command, "/dev/null"}, options);
    EXPECT_EQ(result.exit_code, 0) << describe(result);
    std::string text = result.out;
    std::erase(text, '\r');
    return text;
}

void write_text(const std::string& path, const std::string& text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
}

void write_cache(const std::string& path, const std::vector<cache::Record>& records) {
    std::string text(cache::k_header_line);
    for (const cache::Record& record : records) {
        const auto line = cache::encode_record(record);
        ASSERT_TRUE(line.ok()) << line.error().message;
        text += "\n" + *line;
    }
    write_text(path, text + "\n");
}

cache::Record sample_record(int batch) {
    const std::string n = std::to_string(batch);
    cache::Record record;
    record.key.problem = "fwd x=f32[" + n + ",64,56,56]:nchw w=f32[64,64,3,3]:nchw y=f32[" + n +
                         ",64,56,56]:nchw pad=1,1 stride=1,1 dil=1,1 groups=1 mode=xcorr compute=f32";
    record.key.api = "legacy math=default reorder=default";
    record.key.environment = "cudnn=91900 cudart=13 cc=9.0 sm=132 tf32=unset gpu=NVIDIA H200";
    record.tuning_ns = 12'300'000;
    record.when = "2026-11-29T12:00:00Z";
    record.by = "cudnn-tune 0.1.0";
    record.candidates.reserve(4);  // the references below stay valid
    const auto add = [&record](int algorithm, int rank) -> cache::Candidate& {
        cache::Candidate& candidate = record.candidates.emplace_back();
        candidate.choice = cache::LegacyChoice{algorithm, 0};
        candidate.rank = rank;
        candidate.determinism = abi::k_deterministic;
        return candidate;
    };
    cache::Candidate& tuned = add(6, 1);
    tuned.time_ns = 80'000;
    tuned.spread_ns = 300;
    tuned.samples = 9;
    tuned.workspace_bytes = 12 << 20;
    cache::Candidate& heuristic = add(1, 0);
    heuristic.time_ns = 120'000;
    heuristic.spread_ns = 500;
    heuristic.samples = 9;
    heuristic.determinism = abi::k_non_deterministic;
    cache::Candidate& large = add(7, 2);
    large.not_run = "workspace";
    large.workspace_bytes = std::int64_t{3} << 30;
    cache::Candidate& refused = add(3, 3);
    refused.not_run = "status";
    refused.status = abi::k_v9_not_supported;
    record.heuristic = 1;
    return record;
}

}  // namespace cudnn_tune::testing
