// SPDX-License-Identifier: Apache-2.0
// Entries of near problems that answer where nothing can be measured.
#include <fstream>
#include <iterator>
#include <map>

#include "graph_fixture.hpp"

namespace cudnn_tune::test {
namespace {

class NearAnswers : public GraphTest {
  protected:
    void use(const std::string& mode) { environment["CUDNN_TUNE_MODE"] = mode; }
    static int first_of(const RunResult& run, std::size_t n = 0) {
        return parse_answer(run.lines_with("get").at(n)).entries.front().algorithm;
    }
    std::string cache_text() const {
        std::ifstream file(cache_path(), std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
};

TEST_F(NearAnswers, ComeOnRequestFromTheNearestImageAndAreCountedApart) {
    ASSERT_EQ(run("legacy9", {"shape=3", "get=100", "shape=20", "get=100"}).counter("measured"), 2);
    const std::string before = cache_text();
    use("read");
    const std::vector<std::string> words{"shape=4", "get=100", "get=100", "find=100"};
    EXPECT_EQ(run("legacy9", words).counter("nearest"), 0) << "not asked for";
    use_policy(R"({"nearest": "batch"})");
    EXPECT_EQ(run("legacy9", words).counter("nearest"), 0) << "only the image differs";
    use_policy(R"({"nearest": "size"})");
    const RunResult asked = run("legacy9", words);
    EXPECT_EQ(asked.counter("nearest"), 3);
    EXPECT_EQ(asked.counter("hits"), 0);
    EXPECT_EQ(asked.counter("measured"), 0);
    EXPECT_EQ(asked.count("kernel"), 0U);
    EXPECT_EQ(first_of(asked), 1);
    // Workspaces are those of this size, and nothing has a time that was not taken.
    std::map<int, std::uint64_t> real;
    for (const Entry& entry : parse_answer(run("legacy9", words, Library::absent).lines_with("get").at(0)).entries) {
        real[entry.algorithm] = entry.memory;
    }
    for (const Entry& entry : parse_answer(asked.line("find")).entries) {
        EXPECT_EQ(entry.time, -1);
        EXPECT_TRUE(!real.contains(entry.algorithm) || real[entry.algorithm] == entry.memory);
    }
    EXPECT_EQ(cache_text(), before);
    // An entry of its own is better, and other modes measure.
    use("tune");
    const RunResult own = run("legacy9", words);
    EXPECT_EQ(own.counter("measured"), 1);
    EXPECT_EQ(own.counter("nearest"), 0);
    use("read");
    EXPECT_EQ(run("legacy9", words).counter("hits"), 3);
}

TEST_F(NearAnswers, OfGraphsComeFromTheNearestBatch) {
    environment["CUDNN_TUNE_SECOND_LIST"] = "on";
    ASSERT_EQ(run("graph9", {"batch=4", "list"}).counter("measured"), 1);
    use("read");
    use_policy(R"({"nearest": "batch"})");
    const RunResult asked = run("graph9", {"batch=5", "list", "mode=b", "list"});
    EXPECT_EQ(asked.counter("nearest"), 2);
    EXPECT_EQ(asked.counter("hits"), 0);
    EXPECT_EQ(listed(asked), k_served);
    EXPECT_EQ(asked.count("kernel"), 0U);
    // What does not finalize for this size is left out; if nothing does, the library answers.
    for (const int engine : {70, 14}) {
        sim::Rule rule;
        rule.engine = engine;
        rule.status = sim::Outcome::not_supported;
        script.rules.push_back(rule);
    }
    EXPECT_EQ(run("graph9", {"batch=6", "list"}).child.exit_code, 0);
    EXPECT_EQ(run("graph9", {"batch=5", "shape=1", "list"}).counter("nearest"), 0) << "the image differs";
}

}  // namespace
}  // namespace cudnn_tune::test
