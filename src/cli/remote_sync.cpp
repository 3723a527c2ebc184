// SPDX-License-Identifier: Apache-2.0
#include "cli/remote_sync.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "cache/cache_table.hpp"
#include "cache/line_report.hpp"
#include "cli/redis_store.hpp"

namespace cudnn_tune::cli {
namespace {

using cache::LinePrefix;
// The highest revision of each digest.
using Revisions = std::unordered_map<Digest, int>;

constexpr std::size_t k_most_lines = 64;
constexpr std::size_t k_most_bytes = std::size_t{4} << 20;

// The file and those of `<cache>.d/`, as far as they exist. The callback gets whole records.
Status for_each_record(const std::string& path,
                       const std::function<bool(const LinePrefix&, const cache::Record&, std::string_view)>& callback) {
    FileSystem& files = posix_file_system();
    std::vector<std::string> paths{path};
    const std::string folder = path + ".d/";
    if (const auto names = files.list_directory(path + ".d"); names.ok()) {
        for (const std::string& name : *names) {
            if (name.ends_with(".jsonl")) {
                paths.push_back(folder + name);
            }
        }
    }
    for (const std::string& each : paths) {
        const Status read = cache::for_each_line(files, each, [&](const cache::LineReport& report) {
            return report.verdict != cache::LineVerdict::record ||
                   callback(*cache::parse_prefix(report.text), *report.record, report.text);
        });
        if (!read && read.error().category != ErrorCategory::not_found) {
            return read.error();
        }
    }
    return ok_status();
}

Result<Revisions> revisions_of(const std::string& path) {
    Revisions revisions;
    const Status read = for_each_record(path, [&](const LinePrefix& id, const cache::Record&, std::string_view) {
        int& revision = revisions[id.digest];
        revision = std::max(revision, id.revision);
        return true;
    });
    return read ? Result<Revisions>(std::move(revisions)) : read.error();
}

Status pull(cache::Cache& cache, RedisStore& store, const std::vector<LinePrefix>& remote, const Revisions& local,
            SyncReport& report) {
    std::vector<LinePrefix> missing;
    for (const LinePrefix& id : remote) {
        const auto known = local.find(id.digest);
        if (known == local.end() || known->second < id.revision) {
            missing.push_back(id);
        }
    }
    for (std::size_t first = 0; first < missing.size(); first += k_most_lines) {
        const auto begin = missing.begin() + static_cast<std::ptrdiff_t>(first);
        const auto count = std::min(k_most_lines, missing.size() - first);
        const std::vector<LinePrefix> batch(begin, begin + static_cast<std::ptrdiff_t>(count));
        const auto lines = store.get(batch);
        if (!lines) {
            return lines.error();
        }
        for (std::size_t i = 0; i < count; ++i) {
            const auto& line = (*lines)[i];
            if (!line) {
                continue;  // somebody has stored a higher revision meanwhile: the next sync gets it
            }
            const bool is_its_own = line->find('\n') == std::string::npos && cache::parse_prefix(*line) == batch[i];
            const auto imported = is_its_own ? cache.import_line(*line) : Error{ErrorCategory::corrupt, ""};
            if (!imported.ok() && imported.error().category != ErrorCategory::corrupt) {
                return imported.error();
            }
            report.damaged += imported.ok() ? 0 : 1;
            report.pulled += imported.ok() && *imported ? 1 : 0;
        }
    }
    return ok_status();
}

// Sends lines in batches, and removes the lower revisions that they replace.
class Pusher {
  public:
    Pusher(RedisStore& store, const std::vector<LinePrefix>& remote, SyncReport& report)
        : m_store(store), m_report(report) {
        for (const LinePrefix& id : remote) {
            m_remote.emplace(id.digest, id.revision);
        }
    }
    [[nodiscard]] bool is_news(const LinePrefix& id) const {
        const auto [begin, end] = m_remote.equal_range(id.digest);
        return std::all_of(begin, end, [&](const auto& known) { return known.second < id.revision; });
    }
    [[nodiscard]] bool take(const LinePrefix& id, std::string_view line) {
        m_batch.emplace_back(id, line);
        m_bytes += line.size();
        return m_batch.size() < k_most_lines && m_bytes < k_most_bytes ? true : flush();
    }
    // False if it failed: see status().
    [[nodiscard]] bool flush() {
        const auto added = m_store.add(m_batch);
        if (!added) {
            m_status = added.error();
            return false;
        }
        m_report.pushed += *added;
        std::vector<LinePrefix> replaced;
        for (const auto& [id, line] : m_batch) {
            const auto [begin, end] = m_remote.equal_range(id.digest);
            for (auto known = begin; known != end; ++known) {
                replaced.push_back({id.digest, known->second});
            }
            m_remote.erase(id.digest);
            m_remote.emplace(id.digest, id.revision);
        }
        m_batch.clear();
        m_bytes = 0;
        m_status = m_store.remove(replaced);
        return m_status.ok();
    }
    [[nodiscard]] const Status& status() const { return m_status; }

  private:
    RedisStore& m_store;
    SyncReport& m_report;
    std::unordered_multimap<Digest, int> m_remote;
    std::vector<std::pair<LinePrefix, std::string>> m_batch;
    std::size_t m_bytes = 0;
    Status m_status = ok_status();
};

Status push(const std::string& path, RedisStore& store, const std::vector<LinePrefix>& remote, SyncReport& report) {
    // What was pulled just now is among it, and no news to the store.
    const auto local = revisions_of(path);
    if (!local) {
        return local.error();
    }
    Revisions left = *local;
    Pusher pusher(store, remote, report);
    const Status read =
        for_each_record(path, [&](const LinePrefix& id, const cache::Record& record, std::string_view line) {
            // The first line of the highest revision: the effective one.
            const auto effective = left.find(id.digest);
            if (effective == left.end() || effective->second != id.revision) {
                return true;
            }
            left.erase(effective);
            return record.status == cache::RecordStatus::wanted || !pusher.is_news(id) || pusher.take(id, line);
        });
    if (!read) {
        return read.error();
    }
    if (pusher.status().ok()) {
        (void)pusher.flush();
    }
    return pusher.status();
}

}  // namespace

Result<SyncReport> sync(const std::string& cache_path, const RemoteUrl& url, SyncDirection direction, double timeout_s,
                        Clock& clock) {
    const std::int64_t deadline_ns = clock.monotonic_ns() + static_cast<std::int64_t>(timeout_s * 1e9);
    const auto path = resolve_path(posix_file_system(), cache_path);
    if (!path) {
        return io_error("use", cache_path, path.error_number());
    }
    auto store = RedisStore::connect(url, clock, deadline_ns);
    if (!store) {
        return store.error();
    }
    const auto remote = (*store)->list();
    if (!remote) {
        return remote.error();
    }
    SyncReport report;
    if (direction != SyncDirection::push) {
        cache::CacheOptions options;
        options.path = *path;
        const auto local = revisions_of(*path);
        auto cache = cache::Cache::open(options);
        if (!local || !cache) {
            return local ? cache.error() : local.error();
        }
        if (const auto problem = (*cache)->store_problem()) {
            return *problem;
        }
        if (const Status pulled = pull(**cache, **store, *remote, *local, report); !pulled) {
            return pulled.error();
        }
    }
    if (direction != SyncDirection::pull) {
        if (const Status pushed = push(*path, **store, *remote, report); !pushed) {
            return pushed.error();
        }
    }
    return report;
}

}  // namespace cudnn_tune::cli
