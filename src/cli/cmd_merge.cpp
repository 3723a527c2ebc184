// SPDX-License-Identifier: Apache-2.0
// cudnn-tune merge: several cache files become a new one. (`import` adds to one that is in use.)
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>

#include "cache/record_codec.hpp"
#include "cli/cache_contents.hpp"
#include "cli/command.hpp"
#include "cli/interrupt.hpp"
#include "cli/output_file.hpp"
#include "cli/rewriting.hpp"

namespace cudnn_tune::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
    std::vector<std::string> inputs;
    std::string output;
    bool as_json = false;
};

// Removes what it names when it goes.
class TemporaryPath {
  public:
    explicit TemporaryPath(std::string path) : m_path(std::move(path)) {}
    TemporaryPath(const TemporaryPath&) = delete;
    TemporaryPath& operator=(const TemporaryPath&) = delete;
    ~TemporaryPath() {
        std::error_code error;
        fs::remove(m_path, error);
        fs::remove(m_path + ".lock", error);
        fs::remove(m_path + ".index", error);
    }
    [[nodiscard]] const std::string& path() const { return m_path; }

  private:
    std::string m_path;
};

// Not over a file that somebody has made meanwhile, where the file system can tell.
void give_name(const std::string& from, const std::string& to) {
    if (::link(from.c_str(), to.c_str()) == 0) {
        return;
    }
    const bool has_links = errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS;
    if (has_links || ::rename(from.c_str(), to.c_str()) != 0) {
        throw Failure(k_exit_failed, io_error("make", to, errno).message);
    }
}

// 1. All records go into a temporary file beside the output, lines byte for byte: that is what a merge is (FORMAT.md).
// 2. It is compacted there; nobody else knows of it.
// 3. It gets its name, unless somebody has made a file of this name meanwhile. Killed before, nothing is left but it.
void merge(const Options& options) {
    if (::access(options.output.c_str(), F_OK) == 0) {
        throw Failure(k_exit_failed, options.output + " exists already; cudnn-tune import adds to a file in use");
    }
    const InterruptWatch watch;  // also between the steps
    const TemporaryPath temporary(options.output + ".merging-" + std::to_string(::getpid()));
    OutputFile joined(temporary.path());
    joined.write(std::string(cache::k_header_line) + "\n");
    bool has_newer_lines = false;
    for (const std::string& input : options.inputs) {
        for_each_line_of_cache(input, [&](const std::string&, const cache::LineReport& line) {
            has_newer_lines |= line.verdict == cache::LineVerdict::newer_header;
            if (line.verdict == cache::LineVerdict::record) {
                joined.write(std::string(line.text) + "\n");
            }
            return true;
        });
        if (has_newer_lines) {
            throw Failure(k_exit_failed, input + " was written by a newer cudnn-tune; merge it with that one");
        }
    }
    joined.finish();
    cache::CompactionOptions compaction;
    compaction.path = temporary.path();
    compaction.nobody_else_uses_it = true;
    const cache::CompactionReport report = rewrite(compaction);
    give_name(temporary.path(), options.output);
    std::error_code without;  // it is still the file that the index, if it is large enough for one, tells of
    fs::rename(temporary.path() + ".index", options.output + ".index", without);
    print(options.as_json ? json_of(report, false) + "\n" : options.output + ": " + text_of(report, false));
}

}  // namespace

void add_merge(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    CLI::App* const command = app.add_subcommand("merge", "Make one cache file of several");
    command->footer(
        "Of each entry the highest revision is kept, among equals that of the file named first.\n"
        "Example: cudnn-tune merge node1.jsonl node2.jsonl -o all.jsonl");
    command->add_option("FILE", options->inputs, "Cache files")->required();
    command->add_option("-o,--output", options->output, "The new file; there must be none of this name")
        ->type_name("FILE")
        ->required();
    command->add_flag("--json", options->as_json, "A JSON object");
    command->callback([options] { merge(*options); });
}

}  // namespace cudnn_tune::cli
