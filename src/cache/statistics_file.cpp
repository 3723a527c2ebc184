// SPDX-License-Identifier: Apache-2.0
#include "cache/statistics_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>

#include "cache/json_value.hpp"
#include "cache/own_file_name.hpp"

namespace cudnn_tune::cache {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view k_format = "cudnn-tune-statistics";
constexpr int k_version = 1;
constexpr std::string_view k_suffix = ".json";
constexpr std::int64_t k_most_bytes = 1 << 20;
// The file has two levels. nlohmann/json writes, and frees, nested values by recursion.
constexpr std::ptrdiff_t k_most_brackets = 64;
// Held for well under a millisecond at a time; 32 processes that end at once wait for each other.
constexpr std::int64_t k_lock_wait_ns = 5'000'000'000;

std::string resolved(FileSystem& files, const std::string& path) {
    auto resolved = resolve_path(files, path);
    return resolved.ok() ? *resolved : path;
}

Result<Json> parse(const std::string& path, const std::string& bytes) {
    if (bytes.empty()) {
        return Json{{"format", k_format}, {"version", k_version}, {"counters", Json::object()}};
    }
    const auto brackets = std::count_if(bytes.begin(), bytes.end(), [](char c) { return c == '{' || c == '['; });
    auto json = brackets > k_most_brackets ? Json() : Json::parse(bytes, nullptr, /*allow_exceptions=*/false);
    const bool is_ours = json.is_object() && json.contains("format") && json["format"] == k_format &&
                         json.contains("version") && json["version"].is_number_integer() && json.contains("counters") &&
                         json["counters"].is_object();
    if (!is_ours) {
        return Error{ErrorCategory::corrupt, path + " is not a cudnn-tune statistics file"};
    }
    if (json["version"] > k_version) {
        return Error{ErrorCategory::newer_version, path + " is of a later version than this program"};
    }
    return json;
}

// Nothing if there is no such file.
Result<std::optional<Json>> read(FileSystem& files, const std::string& path) {
    const auto bytes = read_file(files, path, k_most_bytes);
    if (bytes.error_number() == ENOENT) {
        return std::optional<Json>();
    }
    if (!bytes) {
        return io_error("read", path, bytes.error_number());
    }
    auto json = parse(path, *bytes);
    if (!json) {
        return json.error();
    }
    return std::optional(std::move(*json));
}

std::int64_t sum_of(std::int64_t a, std::int64_t b) { return std::min(a + b, k_max_json_integer); }

std::optional<std::int64_t> count_in(const Json& value) {
    if (!value.is_number_integer() || value < 0 || value > k_max_json_integer) {
        return std::nullopt;
    }
    return value.get<std::int64_t>();
}

}  // namespace

Result<Counts> read_statistics(FileSystem& files, const std::string& path) {
    std::vector<std::string> paths{path};
    const std::string directory = resolved(files, path) + ".d/";
    if (const auto names = files.list_directory(directory); names.ok()) {
        for (const std::string& name : *names) {
            if (name.ends_with(k_suffix)) {
                paths.push_back(directory + name);
            }
        }
    }
    Counts sums;
    bool found = false;
    for (const std::string& each : paths) {
        const auto json = read(files, each);
        if (!json) {
            return json.error();
        }
        if (!json->has_value()) {
            continue;
        }
        found = true;
        for (const auto& [name, value] : (**json)["counters"].items()) {
            if (const auto count = count_in(value)) {
                sums[name] = sum_of(sums[name], *count);
            }
        }
    }
    if (!found) {
        return Error{ErrorCategory::not_found, "there is no statistics file " + path};
    }
    return sums;
}

// Absolute, and beside the file itself: see CacheState.
StatisticsFile::StatisticsFile(const std::string& path, FileSystem& files, Clock& clock)
    : m_files(files), m_clock(clock), m_path(resolved(files, path)), m_lock_file(files, clock, m_path + ".lock") {}

StatisticsFile::~StatisticsFile() {
    State* state = m_state.load(std::memory_order_acquire);
    if (state != nullptr && state->process == ::getpid()) {
        delete state;
    }
}

// A forked child gets one of its own; the parent's, which may be in the middle of a change, is leaked.
StatisticsFile::State& StatisticsFile::state() {
    State* current = m_state.load(std::memory_order_acquire);
    if (current != nullptr && current->process == ::getpid()) {
        return *current;
    }
    auto fresh = std::make_unique<State>();
    fresh->process = ::getpid();
    if (m_state.compare_exchange_strong(current, fresh.get(), std::memory_order_acq_rel)) {
        return *fresh.release();
    }
    return *current;  // another thread of this process was faster
}

Status StatisticsFile::add(const Counts& totals) {
    State& mine = state();
    const std::lock_guard lock(mine.mutex);
    Counts growth;
    for (const auto& [name, total] : totals) {
        const std::int64_t more = total - mine.added[name];
        if (more > 0) {
            growth[name] = more;
        }
    }
    if (growth.empty()) {
        return ok_status();
    }
    const auto lease = m_lock_file.acquire(k_append_byte, m_clock.monotonic_ns() + k_lock_wait_ns);
    std::string path = m_path;
    if (!lease.ok()) {
        if (lease.error().category == ErrorCategory::busy) {
            return lease.error();
        }
        const auto own = own_path(mine);
        if (!own) {
            return own.error();
        }
        path = *own;
    }
    if (const Status added = add_to(path, growth); !added) {
        return added.error();
    }
    for (const auto& [name, more] : growth) {
        mine.added[name] += more;
    }
    return ok_status();
}

Result<std::string> StatisticsFile::own_path(State& mine) {
    if (mine.own_path.empty()) {
        const std::string directory = m_path + ".d";
        if (const IoStatus made = make_directories(m_files, directory); !made) {
            return io_error("make", directory, made.error_number());
        }
        mine.own_path = directory + "/" + own_file_name(m_clock, k_suffix);
    }
    return mine.own_path;
}

// Readers see the old file or the new one. It is not synced: a power cut may take the last counts.
Status StatisticsFile::add_to(const std::string& path, const Counts& growth) {
    auto known = read(m_files, path);
    if (!known) {
        return known.error();
    }
    auto json = known->has_value() ? Result<Json>(std::move(**known)) : parse(path, "");
    Json& counters = (*json)["counters"];
    for (const auto& [name, more] : growth) {
        counters[name] = sum_of(count_in(counters[name]).value_or(0), more);
    }
    std::string bytes;
    try {
        bytes = json->dump(2) + "\n";
    } catch (const std::exception& error) {  // text that is no UTF-8
        return Error{ErrorCategory::corrupt, path + " cannot be written: " + error.what()};
    }
    const auto old = m_files.stat(path);
    const std::string temporary = path + ".new";
    (void)m_files.unlink(temporary);  // of a process that was killed: nobody else writes it now
    const auto made = open_regular(m_files, temporary, OpenMode::create_new);
    if (!made) {
        return io_error("make", temporary, made.error_number());
    }
    if (old.ok()) {
        (void)m_files.set_mode(made->descriptor, old->mode);
    }
    IoStatus done = write_all(m_files, made->descriptor, bytes);
    const IoStatus closed = m_files.close(made->descriptor);
    done = done.ok() ? closed : done;
    done = done.ok() ? m_files.rename(temporary, path) : done;
    if (!done) {
        (void)m_files.unlink(temporary);
        return io_error("write", path, done.error_number());
    }
    return ok_status();
}

}  // namespace cudnn_tune::cache
