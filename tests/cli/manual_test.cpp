// SPDX-License-Identifier: Apache-2.0
// Completion scripts and the manual page name what --help names: commands and options are taken from there, so that
// none can be forgotten.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tool_runner.hpp"

namespace cudnn_tune {
namespace {

using testing::describe;
using testing::Folder;
using ::testing::HasSubstr;
using testing::read_text;
using testing::run_child;
using testing::run_tool;
using testing::write_text;

std::string help_of(const std::string& command = "") {
    const auto result =
        run_tool(command.empty() ? std::vector<std::string>{"--help"} : std::vector<std::string>{command, "--help"});
    EXPECT_EQ(result.exit_code, 0) << describe(result);
    return result.out;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    return lines;
}

std::vector<std::string> commands() {
    std::vector<std::string> names;
    bool is_list = false;
    for (const std::string& line : lines_of(help_of())) {
        std::smatch match;
        if (line == "Subcommands:") {
            is_list = true;
        } else if (is_list && std::regex_search(line, match, std::regex("^  ([a-z-]+) "))) {
            names.push_back(match[1]);
        } else if (is_list && line.empty()) {
            break;
        }
    }
    EXPECT_GE(names.size(), 6u);
    return names;
}

std::set<std::string> options(const std::string& command) {
    std::set<std::string> names;
    for (const std::string& line : lines_of(help_of(command))) {
        std::smatch match;
        if (std::regex_search(line, match, std::regex("^  (-[^ ]+)"))) {
            std::istringstream stream(match[1]);
            for (std::string name; std::getline(stream, name, ',');) {
                names.insert(name);
            }
        }
    }
    EXPECT_TRUE(names.contains("--help")) << command;
    return names;
}

std::string completion(const std::string& shell) {
    const auto result = run_tool({"completion", shell});
    EXPECT_EQ(result.exit_code, 0) << describe(result);
    EXPECT_EQ(result.err, "");
    return result.out;
}

bool is_installed(const std::string& program) {
    return run_child({"/bin/sh", "-c", "command -v " + program + " >/dev/null"}).exit_code == 0;
}

class InBashAndFish : public ::testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        if (!is_installed(GetParam())) {
            GTEST_SKIP() << GetParam() << " is not installed";
        }
        write_text(m_folder.path("script"), completion(GetParam()));
        write_text(m_folder.path("some-file"), "");
    }

    // What is offered for the last word of a command line.
    std::set<std::string> offers(const std::vector<std::string>& words) {
        std::string line = "cudnn-tune";
        for (const std::string& word : words) {
            line += " " + word;
        }
        const std::string name = GetParam();
        std::vector<std::string> argv;
        if (name == "bash") {
            argv = {"bash", "--norc", "-c",
                    "source ./script; COMP_WORDS=(" + line + (words.back().empty() ? "''" : "") + ");" +
                        "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _cudnn_tune; printf '%s\\n' \"${COMPREPLY[@]}\""};
        } else {
            argv = {"fish", "--no-config", "-c",
                    "source ./script; complete -C '" + line + "' | string replace -r '\\t.*' ''"};
        }
        const auto result = run_child(argv, {.folder = m_folder.path()});
        std::set<std::string> offered;
        for (std::string word : lines_of(result.out)) {
            if (!word.empty()) {
                offered.insert(word);
            }
        }
        return offered;
    }
    Folder m_folder;
};

TEST_P(InBashAndFish, EveryCommandIsOffered) {
    const std::vector<std::string> expected = commands();
    EXPECT_EQ(offers({""}), std::set<std::string>(expected.begin(), expected.end()));
    EXPECT_EQ(offers({"regr"}), std::set<std::string>{"regress"});
}

TEST_P(InBashAndFish, EveryOptionOfEveryCommandIsOffered) {
    for (const std::string& command : commands()) {
        std::set<std::string> expected;
        for (const std::string& option : options(command)) {
            if (option.starts_with("--")) {
                expected.insert(option);
            }
        }
        EXPECT_EQ(offers({command, "--"}), expected) << command;
    }
}

TEST_P(InBashAndFish, WordsOfAListAreOffered) {
    EXPECT_EQ(offers({"run", "--mode", "re"}), (std::set<std::string>{"read", "record", "retune"}));
    EXPECT_EQ(offers({"completion", ""}), (std::set<std::string>{"bash", "fish", "zsh"}));
}

INSTANTIATE_TEST_SUITE_P(Completion, InBashAndFish, ::testing::Values("bash", "fish"),
                         [](const auto& info) { return info.param; });

TEST(Completion, OfZshKnowsEveryCommandAndOption) {
    const std::string script = completion("zsh");
    for (const std::string& command : commands()) {
        EXPECT_THAT(script, HasSubstr("'" + command + ":"));
        const std::size_t start = script.find("\n                " + command + ")\n");
        ASSERT_NE(start, std::string::npos) << command;
        const std::string part = script.substr(start, script.find(";;", start) - start);
        for (const std::string& option : options(command)) {
            EXPECT_THAT(part, HasSubstr(option + "[")) << command;
        }
    }
}

TEST(Completion, IsASyntacticallyCorrectScript) {
    for (const char* const shell : {"bash", "zsh", "fish"}) {
        if (!is_installed(shell)) {
            std::printf("%s is not installed: its script was not read\n", shell);
            continue;
        }
        Folder folder;
        write_text(folder.path("script"), completion(shell));
        const auto result = run_child({shell, "-n", folder.path("script")});
        EXPECT_EQ(result.exit_code, 0) << describe(result);
        EXPECT_EQ(result.err, "");
    }
}

TEST(Completion, RefusesOtherShells) {
    for (const std::vector<std::string>& arguments :
         std::vector<std::vector<std::string>>{{"completion"}, {"completion", "csh"}, {"completion", "bash", "zsh"}}) {
        const auto result = run_tool(arguments);
        EXPECT_EQ(result.exit_code, 2);
        EXPECT_EQ(result.out, "");
        EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    }
}

class Manual : public ::testing::Test {
  protected:
    Manual() : m_page(run_tool({"manual"}).out) {}
    // As a person types it.
    [[nodiscard]] std::string text() const { return std::regex_replace(m_page, std::regex(R"(\\-)"), "-"); }
    std::string m_page;
};

TEST_F(Manual, NamesEveryCommandAndOption) {
    for (const std::string& command : commands()) {
        const std::size_t start = text().find("\n.SS " + command + "\n");
        ASSERT_NE(start, std::string::npos) << command;
        std::string part = text().substr(start + 1);
        part = part.substr(0, std::min(part.find("\n.SS "), part.find("\n.SH ")));
        for (const std::string& option : options(command)) {
            EXPECT_TRUE(std::regex_search(part, std::regex("[ \"]" + option + "[ \"\n]"))) << command << " " << option;
        }
    }
}

TEST_F(Manual, NamesEveryEnvironmentVariableOfTheReadme) {
    const std::string readme = read_text(README);
    std::set<std::string> names;
    const std::regex row(R"(\n\| `(CUDNN_TUNE_[A-Z_]+)` \|)");
    for (std::sregex_iterator match(readme.begin(), readme.end(), row), end; match != end; ++match) {
        names.insert((*match)[1]);
    }
    EXPECT_GE(names.size(), 10u);
    for (const std::string& name : names) {
        EXPECT_THAT(m_page, HasSubstr("\n.B " + name + "\n"));
    }
}

TEST_F(Manual, IsFormattedWithoutAWarning) {
    if (!is_installed("groff")) {
        GTEST_SKIP() << "groff is not installed";
    }
    Folder folder;
    write_text(folder.path("cudnn-tune.1"), m_page);
    const auto result = run_child({"groff", "-ww", "-man", "-Tutf8", "-Z", folder.path("cudnn-tune.1")});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.err, "");
}

// Its output is what somebody pastes under these commands.
TEST(Readme, WalkthroughShowsTheCommandsThatTheScriptRuns) {
    const std::string readme = read_text(README);
    std::string script = read_text(CLI_TESTS "/../../scripts/gpu-walkthrough.sh");
    script = std::regex_replace(script, std::regex(R"(\$program)"), "python3 train.py");
    script = std::regex_replace(script, std::regex(R"(\$digest)"), "DIGEST");
    const std::size_t start = readme.find("## Five minutes");
    ASSERT_NE(start, std::string::npos);
    const std::string section = readme.substr(start, readme.find("\n## ", start) - start);
    int nb_commands = 0;
    const std::regex command("(?:^|\n)(?:[$] )?(cudnn-tune [^\n]*)");
    for (std::sregex_iterator match(section.begin(), section.end(), command), end; match != end; ++match) {
        const std::string line =
            std::regex_replace((*match)[1].str(), std::regex("jsonl [0-9a-f]{8}$"), "jsonl DIGEST");
        EXPECT_THAT(script, HasSubstr(" \"" + line + "\"\n"));
        nb_commands += 1;
    }
    EXPECT_GE(nb_commands, 5);
}

TEST(Tool, ShowsAnExampleInTheHelpOfEveryCommand) {
    for (const std::string& command : commands()) {
        EXPECT_TRUE(std::regex_search(help_of(command), std::regex("\nExamples?: cudnn-tune " + command + "\\b")))
            << command;
    }
}

}  // namespace
}  // namespace cudnn_tune
