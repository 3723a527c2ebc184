// SPDX-License-Identifier: Apache-2.0
// Every command that names a cache file, with each kind of bad input: one clear sentence, the documented exit status,
// nothing on standard output, and nothing changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache/record_codec.hpp"
#include "tool_runner.hpp"

namespace cudnn_tune {
namespace {

using testing::describe;
using testing::Folder;
using ::testing::HasSubstr;
using testing::run_tool;
using testing::sample_record;
using ::testing::StartsWith;

// "@" is the place of the cache file.
struct Command {
    std::string name;
    std::vector<std::string> arguments;
    friend void PrintTo(const Command& command, std::ostream* out) { *out << command.name; }
};

class BadInput : public ::testing::TestWithParam<Command> {
  protected:
    BadInput() { testing::write_cache(m_folder.path("good"), {sample_record()}); }
    void expect_refusal(const std::string& path, const std::vector<std::string>& further, int exit_code,
                        const std::string& words) {
        std::vector<std::string> arguments;
        for (const std::string& argument : GetParam().arguments) {
            arguments.push_back(argument == "@" ? path : argument == "@good" ? m_folder.path("good") : argument);
        }
        arguments.insert(arguments.begin() + 1, further.begin(), further.end());
        const std::string before = testing::contents_of(m_folder);
        const auto result = run_tool(arguments, {.folder = m_folder.path()});
        EXPECT_EQ(result.exit_code, exit_code) << describe(result);
        EXPECT_EQ(result.out, "");
        EXPECT_THAT(result.err, StartsWith("cudnn-tune: error: "));
        EXPECT_THAT(result.err, HasSubstr(words));
        EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
        EXPECT_EQ(testing::contents_of(m_folder), before);
    }
    Folder m_folder;
};

TEST_P(BadInput, IsAMissingFile) { expect_refusal(m_folder.path("none"), {}, 1, "No such file or directory"); }

TEST_P(BadInput, IsADirectory) {
    std::filesystem::create_directory(m_folder.path("folder"));
    expect_refusal(m_folder.path("folder"), {}, 1, "Is a directory");
}

TEST_P(BadInput, IsAFileOfAnotherKind) {
    testing::write_text(m_folder.path("text"), "hello\nworld\n");
    expect_refusal(m_folder.path("text"), {}, 1, "is not a cache file of cudnn-tune");
}

TEST_P(BadInput, IsAnOptionThatThereIsNot) { expect_refusal(m_folder.path("good"), {"--bogus"}, 2, "--bogus"); }

TEST_P(BadInput, IsAnOptionWithoutItsValue) {
    std::vector<std::string> arguments = {GetParam().arguments.front()};
    const auto result = run_tool(arguments);
    EXPECT_EQ(result.exit_code, 2) << describe(result);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, StartsWith("cudnn-tune: error: "));
}

TEST_P(BadInput, HasHelpWithAnExample) {
    const auto result = run_tool({GetParam().arguments.front(), "--help"});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.out, HasSubstr("Example"));
    EXPECT_EQ(result.err, "");
}

const std::vector<Command> k_commands = {
    {"list", {"list", "@"}},
    {"list_json", {"list", "@", "--json"}},
    {"show", {"show", "@", "fwd"}},
    {"stats", {"stats", "@"}},
    {"stats_json", {"stats", "@", "--json"}},
    {"diff_a", {"diff", "@", "@good"}},
    {"diff_b", {"diff", "@good", "@"}},
    {"verify", {"verify", "@"}},
    {"verify_json", {"verify", "@", "--json"}},
    {"pin", {"pin", "@", "fwd", "algo1"}},
    {"unpin", {"unpin", "@", "fwd"}},
    {"deny", {"deny", "@", "fwd", "algo1"}},
    {"compact", {"compact", "@"}},
    {"prune", {"prune", "@", "--status", "wanted"}},
    {"prune_kernels", {"prune", "@", "--kernels-to", "1M"}},
    {"merge", {"merge", "@", "-o", "new"}},
    {"export", {"export", "@"}},
    {"export_csv", {"export", "@", "--csv", "-o", "new"}},
    {"import", {"import", "new", "@"}},
};

INSTANTIATE_TEST_SUITE_P(Of, BadInput, ::testing::ValuesIn(k_commands),
                         [](const auto& command) { return command.param.name; });

// Commands that look for one entry.
class UnknownKey : public BadInput {};

TEST_P(UnknownKey, ChangesNothing) {
    std::vector<std::string> arguments;
    for (const std::string& argument : GetParam().arguments) {
        arguments.push_back(argument == "@" ? m_folder.path("good") : argument == "fwd" ? "bwd_data" : argument);
    }
    const std::string before = testing::contents_of(m_folder);
    const auto result = run_tool(arguments);
    EXPECT_EQ(result.exit_code, 3) << describe(result);
    EXPECT_EQ(result.err, "cudnn-tune: error: no entry of " + m_folder.path("good") +
                              " has bwd_data in its key or at the start of its digest\n");
    EXPECT_EQ(testing::contents_of(m_folder), before);
}

INSTANTIATE_TEST_SUITE_P(Of, UnknownKey,
                         ::testing::Values(Command{"show", {"show", "@", "fwd"}},
                                           Command{"pin", {"pin", "@", "fwd", "algo1"}},
                                           Command{"unpin", {"unpin", "@", "fwd"}},
                                           Command{"deny", {"deny", "@", "fwd", "algo1"}}),
                         [](const auto& command) { return command.param.name; });

}  // namespace
}  // namespace cudnn_tune
