// SPDX-License-Identifier: Apache-2.0
// Runs graph_client with and without the preloaded library, and reads what it printed.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph_records.hpp"
#include "select/frontier.hpp"
#include "support/child_process.hpp"

namespace cudnn_tune::test {

enum class Binding : std::uint8_t { dlsym, linked };

struct ClientRun {
    Binding binding = Binding::dlsym;
    bool preloaded = true;
    std::map<std::string, std::string> environment{};
};

class RealServing : public ::testing::Test {
  protected:
    void SetUp() override;
    void TearDown() override;

    [[nodiscard]] std::string cache_path() const { return m_folder + "/cache.jsonl"; }
    [[nodiscard]] testing::ChildResult run(const RealLibrary& library, const std::string& scenario,
                                           const std::vector<std::string>& problems, const ClientRun& how) const;

  private:
    std::string m_folder;
};

// What the scenario "list" printed: by problem and mode.
struct Answer {
    std::string head;
    std::vector<std::string> configurations;
    bool operator==(const Answer&) const = default;
};
using Answers = std::map<std::pair<std::string, int>, Answer>;
[[nodiscard]] Answers parse_list(const std::string& text);

// Problems with records in which another configuration than the library's first is the fastest.
struct Prepared {
    std::vector<std::string> ids;
    std::vector<cache::Record> records;
    std::map<std::string, std::string> preferred;  // text of the fastest, by id
};
// About `sample_size` problems in all their forms; each key once.
[[nodiscard]] Prepared prepare(const RealLibrary& library, const key::Environment& environment,
                               std::size_t sample_size);

// What a program must get for this question.
[[nodiscard]] std::vector<std::string> texts_of(const cache::Record& record, const select::GraphListQuestion& question);

}  // namespace cudnn_tune::test
