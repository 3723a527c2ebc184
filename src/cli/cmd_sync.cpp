// SPDX-License-Identifier: Apache-2.0
// cudnn-tune sync: brings a cache file and a Redis or Valkey server together, for machines without a shared file
// system.
#include <csignal>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/json_text.hpp"
#include "cli/remote_sync.hpp"
#include "cli/run_setup.hpp"

namespace cudnn_tune::cli {
namespace {

struct Options {
    std::string url;
    std::string cache;
    bool only_pull = false;
    bool only_push = false;
    double timeout_s = 30;
    bool as_json = false;
};

void run(const Options& options) {
    const RemoteUrl url = remote_url_or_throw(options.url);
    const std::string path = cache_path_of(options.cache);
    const SyncDirection direction = options.only_pull   ? SyncDirection::pull
                                    : options.only_push ? SyncDirection::push
                                                        : SyncDirection::both;
    std::signal(SIGPIPE, SIG_IGN);  // a server that goes away is told by a failed call
    const auto report = sync(path, url, direction, options.timeout_s);
    if (!report) {
        throw Failure(k_exit_failed, report.error().message);
    }
    if (report->damaged > 0) {
        warn(std::to_string(report->damaged) + " values of " + url.text() +
             " are no whole records; they were left out");
    }
    if (options.as_json) {
        print(json_text({{"pulled", report->pulled}, {"pushed", report->pushed}, {"left_out", report->damaged}}) +
              "\n");
        return;
    }
    print("pulled " + std::to_string(report->pulled) + ", pushed " + std::to_string(report->pushed) + "\n");
}

}  // namespace

RemoteUrl remote_url_or_throw(const std::string& text) {
    auto url = parse_remote_url(text);
    if (!url) {
        throw Failure(k_exit_usage, url.error().message);
    }
    // As redis-cli: a password on a command line is seen by everybody on the machine.
    if (const char* const password = std::getenv("REDISCLI_AUTH"); url->password.empty() && password != nullptr) {
        url->password = password;
    }
    return *url;
}

void add_sync(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    CLI::App* const command = app.add_subcommand("sync", "Exchange records with a Redis or Valkey server");
    command->footer(
        "Pulls, then pushes. A password may be in REDISCLI_AUTH instead of the address.\n"
        "Example: cudnn-tune sync --cache ~/.cache/cudnn-tune.jsonl 'redis://cache-host:6379/0?prefix=team:'");
    command->add_option("URL", options->url, "redis://[[user]:password@]host[:port][/database][?prefix=TEXT]")
        ->required()
        ->type_name("TEXT");
    command->add_option("--cache", options->cache, "The cache file; made if missing (default: $CUDNN_TUNE_CACHE)")
        ->type_name("FILE");
    CLI::Option* const pull = command->add_flag("--pull", options->only_pull, "Only bring the server's records here");
    command->add_flag("--push", options->only_push, "Only send the file's records there")->excludes(pull);
    command->add_option("--timeout", options->timeout_s, "Give up after this many seconds (default: 30)")
        ->type_name("SECONDS")
        ->check(CLI::PositiveNumber);
    command->add_flag("--json", options->as_json, "A JSON object");
    command->callback([options] { run(*options); });
}

}  // namespace cudnn_tune::cli
