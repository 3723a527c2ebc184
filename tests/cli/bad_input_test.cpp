// SPDX-License-Identifier: Apache-2.0
// Every command that reads a file, with each kind of bad input: one clear sentence, the documented exit status, nothing
// on standard output, and nothing changed. A command that is in --help has to be in the table, or among those that have
// tests of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <set>
#include <sstream>

#include "cache/record_codec.hpp"
#include "tool_runner.hpp"

namespace cudnn_tune {
namespace {

using ::testing::AnyOf;
using testing::describe;
using testing::Folder;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::run_child;
using testing::run_tool;
using testing::sample_record;
using ::testing::StartsWith;

enum class Changes : bool { nothing, a_file };

// "@" is the place of the file that is bad, "@good" a cache file, "new" one that is to be made.
struct Command {
    std::string name;
    std::vector<std::string> arguments;
    Changes changes = Changes::nothing;  // with good input
    std::string complaint = "is not a cache file of cudnn-tune";
    friend void PrintTo(const Command& command, std::ostream* out) { *out << command.name; }
};

const std::vector<Command> k_commands = {
    {"list", {"list", "@"}},
    {"list_json", {"list", "@", "--json"}},
    {"list_slowest", {"list", "@", "--slowest"}},
    {"list_kernels", {"list", "@", "--kernels"}},
    {"show", {"show", "@", "fwd"}},
    {"show_json", {"show", "@", "fwd", "--json"}},
    {"stats", {"stats", "@"}},
    {"stats_json", {"stats", "@", "--json"}},
    {"diff_a", {"diff", "@", "@good"}},
    {"diff_b", {"diff", "@good", "@"}},
    {"verify", {"verify", "@"}},
    {"verify_json", {"verify", "@", "--json"}},
    {"pin", {"pin", "@", "fwd", "algo1"}, Changes::a_file},
    {"unpin", {"unpin", "@", "fwd"}, Changes::a_file},
    {"deny", {"deny", "@", "fwd", "algo1"}, Changes::a_file},
    {"compact", {"compact", "@"}, Changes::a_file},
    {"compact_dry", {"compact", "@", "--dry-run"}},
    {"prune", {"prune", "@", "--status", "wanted"}, Changes::a_file},
    {"prune_kernels", {"prune", "@", "--kernels-to", "1M"}, Changes::a_file},
    {"merge", {"merge", "@", "-o", "new"}, Changes::a_file},
    {"export", {"export", "@"}},
    {"export_csv", {"export", "@", "--csv", "-o", "new"}, Changes::a_file},
    {"import", {"import", "new", "@"}, Changes::a_file},
    {"report", {"report", "@"}},
    {"report_file", {"report", "@", "-o", "new"}, Changes::a_file},
    {"regress_before", {"regress", "@", "@good"}},
    {"regress_after", {"regress", "@good", "@"}},
    {"tune_list", {"tune", "--cache", "@", "--list"}},
    {"tune_like", {"tune", "--cache", "new", "--like", "@", "--list"}},
    {"tune_shapes", {"tune", "--cache", "new", "--shapes", "@", "--list"}, Changes::nothing, "is no table of shapes"},
};
// They read no cache file (completion), have to go on whatever the file is (run, doctor), or need a program or a
// server.
const std::set<std::string> k_tested_elsewhere = {"run", "warm", "doctor", "completion", "sync"};

TEST(BadInputTable, HasEveryCommandOfTheHelp) {
    std::set<std::string> expected = k_tested_elsewhere;
    for (const Command& command : k_commands) {
        expected.insert(command.arguments.front());
    }
    const std::string help = run_tool({"--help"}).out;
    std::istringstream lines(help.substr(help.find("Subcommands:\n") + 13));
    std::set<std::string> commands;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("  ") && line[2] != ' ') {
            commands.insert(line.substr(2, line.find(' ', 2) - 2));
        }
    }
    EXPECT_EQ(commands, expected);
}

class BadInput : public ::testing::TestWithParam<Command> {
  protected:
    BadInput() { testing::write_cache(m_folder.path("good"), {sample_record()}); }

    [[nodiscard]] std::vector<std::string> arguments(const std::string& path) const {
        std::vector<std::string> arguments;
        for (const std::string& argument : GetParam().arguments) {
            arguments.push_back(argument == "@" ? path : argument == "@good" ? m_folder.path("good") : argument);
        }
        return arguments;
    }

    // `redirection` is the shell's.
    testing::ChildResult run_redirected(const std::string& path, const std::string& redirection,
                                        const std::map<std::string, std::string>& environment = {}) const {
        std::vector<std::string> words = {"/bin/sh", "-c", "exec \"$0\" \"$@\" " + redirection, TOOL};
        const auto all = arguments(path);
        words.insert(words.end(), all.begin(), all.end());
        return run_child(words, {.environment = environment, .folder = m_folder.path()});
    }

    void expect_refusal(const std::string& path, const std::vector<std::string>& further, int exit_code,
                        const std::string& words) {
        std::vector<std::string> all = arguments(path);
        all.insert(all.begin() + 1, further.begin(), further.end());
        const std::string before = testing::contents_of(m_folder);
        const auto result = run_tool(all, {.folder = m_folder.path()});
        EXPECT_EQ(result.exit_code, exit_code) << describe(result);
        EXPECT_EQ(result.out, "");
        EXPECT_THAT(result.err, StartsWith("cudnn-tune: error: "));
        EXPECT_THAT(result.err, HasSubstr(words));
        EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
        EXPECT_EQ(testing::contents_of(m_folder), before);
    }

    // What is in order in the file is read, or the command says why not; a command that reports changes nothing, and
    // nothing that the file holds reaches a terminal as it is.
    void expect_no_harm(const std::string& path) {
        const std::string before = testing::contents_of(m_folder);
        const auto result = run_tool(arguments(path), {.folder = m_folder.path()});
        EXPECT_THAT(result.exit_code, AnyOf(0, 1, 3)) << describe(result);
        std::istringstream lines(result.err);
        for (std::string line; std::getline(lines, line);) {
            EXPECT_THAT(line, AnyOf(StartsWith("cudnn-tune: error: "), StartsWith("cudnn-tune: warning: ")));
        }
        EXPECT_THAT(result.err, Not(HasSubstr("\x1b")));
        const bool copies_lines = GetParam().arguments.front() == "export";
        EXPECT_TRUE(copies_lines || result.out.find('\x1b') == std::string::npos);
        if (GetParam().changes == Changes::nothing) {
            EXPECT_EQ(testing::contents_of(m_folder), before);
        }
    }
    [[nodiscard]] std::string good_text() const { return testing::read_text(m_folder.path("good")); }
    Folder m_folder;
};

TEST_P(BadInput, IsAMissingFile) { expect_refusal(m_folder.path("none"), {}, 1, "No such file or directory"); }

TEST_P(BadInput, IsInAMissingFolder) { expect_refusal(m_folder.path("no/file"), {}, 1, "No such file or directory"); }

TEST_P(BadInput, IsADirectory) {
    std::filesystem::create_directory(m_folder.path("folder"));
    expect_refusal(m_folder.path("folder"), {}, 1, "Is a directory");
}

TEST_P(BadInput, IsAPipeThatNobodyWritesTo) {
    ASSERT_EQ(::mkfifo(m_folder.path("pipe").c_str(), 0600), 0);
    expect_refusal(m_folder.path("pipe"), {}, 1, "not a regular file");
}

TEST_P(BadInput, IsADevice) {
    expect_refusal("/dev/null", {}, 1, "not a regular file");
    expect_refusal("/dev/zero", {}, 1, "not a regular file");
}

TEST_P(BadInput, IsALinkThatLeadsNowhere) {
    std::filesystem::create_symlink("loop", m_folder.path("loop"));
    expect_refusal(m_folder.path("loop"), {}, 1, "Too many levels of symbolic links");
}

TEST_P(BadInput, IsAFileOfAnotherKind) {
    testing::write_text(m_folder.path("text"), "hello\nworld\n");
    expect_refusal(m_folder.path("text"), {}, 1, GetParam().complaint);
    testing::write_text(m_folder.path("binary"), std::string("\x7f"
                                                             "ELF\x1b[31m\0\xff\n\x80",
                                                             12));
    expect_refusal(m_folder.path("binary"), {}, 1, GetParam().complaint);
}

TEST_P(BadInput, HasANameThatWouldSteerATerminal) {
    expect_refusal(m_folder.path("a\x1b[31m\xff\r"), {}, 1, "a?[31m\xff?");
}

TEST_P(BadInput, IsAnOptionThatThereIsNot) { expect_refusal(m_folder.path("good"), {"--bogus"}, 2, "--bogus"); }

TEST_P(BadInput, IsAnOptionWithoutItsValue) {
    const auto result = run_tool({GetParam().arguments.front(), "--json=x", "--limit"});
    EXPECT_EQ(result.exit_code, 2) << describe(result);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, StartsWith("cudnn-tune: error: "));
    EXPECT_THAT(result.err, HasSubstr("; cudnn-tune " + GetParam().arguments.front() + " --help lists"));
}

TEST_P(BadInput, IsDamagedInPart) {
    testing::write_text(m_folder.path("torn"), good_text() + good_text().substr(0, good_text().size() / 2));
    expect_no_harm(m_folder.path("torn"));
    testing::write_text(m_folder.path("garbage"),
                        good_text() + "\x1b[2J\xff\xfe\x80 garbage\n" + std::string(3, '\0') + "\n");
    expect_no_harm(m_folder.path("garbage"));
}

TEST_P(BadInput, HasConflictMarkers) {
    testing::write_text(m_folder.path("c"), good_text() + "<<<<<<< HEAD\n" + good_text() + "=======\n>>>>>>> other\n");
    expect_no_harm(m_folder.path("c"));
}

TEST_P(BadInput, HasALineWithoutEnd) {
    testing::write_text(m_folder.path("c"), good_text() + std::string(std::size_t{6} << 20, 'x') + "\n");
    expect_no_harm(m_folder.path("c"));
}

TEST_P(BadInput, IsEmpty) {
    testing::write_text(m_folder.path("c"), "");
    expect_no_harm(m_folder.path("c"));
}

TEST_P(BadInput, IsOfANewerFormatWhichIsNeverWritten) {
    std::string text = good_text();
    text.replace(text.find("\"version\":1"), 11, "\"version\":9");
    testing::write_text(m_folder.path("c"), text);
    expect_no_harm(m_folder.path("c"));
    EXPECT_EQ(testing::read_text(m_folder.path("c")), text);
    EXPECT_FALSE(std::filesystem::exists(m_folder.path("c.lock")));
}

TEST_P(BadInput, AnswerThatCannotBeWrittenIsAFailure) {
    const auto before = run_redirected(m_folder.path("good"), "");
    std::filesystem::remove(m_folder.path("new"));
    testing::write_cache(m_folder.path("good"), {sample_record()});
    const auto result = run_redirected(m_folder.path("good"), ">/dev/full");
    if (!before.out.empty()) {
        EXPECT_EQ(result.exit_code, 1) << describe(result);
        EXPECT_THAT(result.err, StartsWith("cudnn-tune: error: cannot write the answer: No space left on device"));
    }
}

// A file that is opened meanwhile gets the lowest free number, and must not get the answer.
TEST_P(BadInput, AnswerWithoutAStandardOutputGoesIntoNoFile) {
    std::filesystem::copy_file(m_folder.path("good"), m_folder.path("c"));
    for (const char* const redirection : {">&-", "<&- >&-", "<&- >&- 2>&-"}) {
        const auto result = run_redirected(m_folder.path("c"), redirection);
        EXPECT_THAT(result.exit_code, AnyOf(0, 1, 3)) << describe(result);
        if (std::filesystem::exists(m_folder.path("c.lock"))) {
            EXPECT_EQ(std::filesystem::file_size(m_folder.path("c.lock")), 0U);
        }
        EXPECT_EQ(run_tool({"verify", m_folder.path("c")}).exit_code, 0) << redirection;
        std::filesystem::remove(m_folder.path("new"));
    }
}

TEST_P(BadInput, LocaleChangesNothing) {
    if (GetParam().changes == Changes::a_file || GetParam().name == "report") {
        GTEST_SKIP() << "the second time has less to do, or another time of day in it";
    }
    const auto in_c = run_redirected(m_folder.path("good"), "", {{"LC_ALL", "C"}});
    const auto elsewhere = run_redirected(m_folder.path("good"), "", {{"LC_ALL", "no_SUCH.locale"}});
    EXPECT_EQ(in_c.out, elsewhere.out);
    EXPECT_EQ(in_c.exit_code, elsewhere.exit_code);
}

TEST_P(BadInput, HasHelpWithAnExample) {
    const auto result = run_tool({GetParam().arguments.front(), "--help"});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.out, HasSubstr("Example"));
    EXPECT_EQ(result.err, "");
}

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
