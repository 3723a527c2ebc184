// SPDX-License-Identifier: Apache-2.0
#include "cache/trial_marks.hpp"

#include <unistd.h>

#include <algorithm>

#include "cache/own_file_name.hpp"
#include "cache/record_codec.hpp"

namespace cudnn_tune::cache {
namespace {

constexpr std::string_view k_infix = ".trial-";
constexpr std::string_view k_header = "cudnn-tune trial 1 ";
constexpr std::string_view k_try = "try ";
constexpr std::int64_t k_most_bytes = 1 << 20;
constexpr std::size_t k_most_files = 1024;
constexpr std::size_t k_digest_digits = 32;

struct Place {
    std::string folder;
    std::string name_start;
};
Place place_of(const std::string& cache_path) {
    const std::size_t slash = cache_path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : cache_path.substr(0, std::max<std::size_t>(slash, 1));
    return {folder, cache_path.substr(slash == std::string::npos ? 0 : slash + 1) + std::string(k_infix)};
}

// "?" where it cannot be read.
std::string boot_id(FileSystem& files) {
    auto text = read_file(files, "/proc/sys/kernel/random/boot_id", 64);
    if (!text.ok()) {
        return "?";
    }
    text->erase(std::min(text->find('\n'), text->size()));
    return *text;
}

// Nothing if the text is no mark, or says nothing yet.
std::optional<TrialMark> parse_mark(std::string_view text) {
    if (!text.starts_with(k_header)) {
        return std::nullopt;
    }
    std::optional<TrialMark> mark;
    while (!text.empty()) {
        const std::size_t newline = text.find('\n');
        if (newline == std::string_view::npos) {
            break;  // torn
        }
        const std::string_view line = text.substr(0, newline);
        text.remove_prefix(newline + 1);
        if (line.starts_with(k_try)) {
            const auto digest = parse_digest(line.substr(k_try.size(), k_digest_digits));
            if (!digest || line.size() <= k_try.size() + k_digest_digits) {
                return std::nullopt;
            }
            mark = TrialMark{};
            mark->digest = *digest;
            mark->choice = line.substr(k_try.size() + k_digest_digits + 1);
        } else if (mark && (line.starts_with("signal ") || line.starts_with("sticky "))) {
            mark->ended = line;
        }
    }
    return mark;
}

// One mark of another process.
struct Found {
    std::optional<TrialMark> mark;
    bool running = true;
    std::int64_t modified_ns = 0;
};
std::optional<Found> look_at(FileSystem& files, const std::string& path) {
    const auto file = open_regular(files, path, OpenMode::append);
    if (!file.ok()) {
        return std::nullopt;
    }
    Found found;
    found.modified_ns = file->info.modified_ns;
    // Its process holds the lock until it is gone, wherever and whatever its number is.
    found.running = !files.try_lock_range(file->descriptor, 0, 1).ok();
    std::string text(static_cast<std::size_t>(std::min(file->info.size_bytes, k_most_bytes)), '\0');
    const auto read = files.pread(file->descriptor, text, 0);
    text.resize(read.ok() ? *read : 0);
    found.mark = parse_mark(text);
    if (found.mark) {
        found.mark->path = path;
        found.mark->running = found.running;
    }
    [[maybe_unused]] const IoStatus closed = files.close(file->descriptor);
    return found;
}

std::vector<std::string> paths_of_marks(FileSystem& files, const std::string& cache_path) {
    const Place place = place_of(cache_path);
    std::vector<std::string> paths;
    const auto names = files.list_directory(place.folder);
    if (names.ok()) {
        for (const std::string& name : *names) {
            if (name.starts_with(place.name_start) && paths.size() < k_most_files) {
                paths.push_back(place.folder);
                paths.back().append("/").append(name);
            }
        }
    }
    return paths;
}

std::string resolved(FileSystem& files, const std::string& path) {
    const auto whole = resolve_path(files, path);
    return whole.ok() ? *whole : path;
}

}  // namespace

std::vector<TrialMark> list_trial_marks(FileSystem& files, const std::string& cache_path) {
    std::vector<TrialMark> marks;
    for (const std::string& path : paths_of_marks(files, resolved(files, cache_path))) {
        auto found = look_at(files, path);
        if (found && found->mark) {
            marks.push_back(std::move(*found->mark));
        }
    }
    return marks;
}

Result<int> clear_trial_marks(FileSystem& files, const std::string& cache_path) {
    int count = 0;
    for (const std::string& path : paths_of_marks(files, resolved(files, cache_path))) {
        const auto found = look_at(files, path);
        if (!found || found->running) {
            continue;
        }
        if (const IoStatus removed = files.unlink(path); !removed.ok() && removed.error_number() != ENOENT) {
            return io_error("remove", path, removed.error_number());
        }
        ++count;
    }
    return count;
}

TrialMarks::TrialMarks(FileSystem& files, Clock& clock, const std::string& cache_path)
    : m_files(files), m_clock(clock), m_cache_path(resolved(files, cache_path)) {}

void TrialMarks::look() {
    m_has_looked = true;
    for (const std::string& path : paths_of_marks(m_files, m_cache_path)) {
        // Closing a descriptor of one's own file would give up its lock.
        auto found = path != m_own_path ? look_at(m_files, path) : std::nullopt;
        if (!found || found->running) {
            continue;
        }
        if (found->mark && !found->mark->ended.empty()) {
            m_dead[{to_hex(found->mark->digest), found->mark->choice}].push_back(path);
            continue;
        }
        // Killed, interrupted or out of time: nobody is to blame. One that was just made may not have its lock yet.
        constexpr std::int64_t fresh_ns = 60'000'000'000;
        if (found->mark || m_clock.wall_s() * 1'000'000'000 - found->modified_ns > fresh_ns) {
            [[maybe_unused]] const IoStatus removed = m_files.unlink(path);
        }
    }
}

int TrialMarks::deaths(const Digest& digest, const Choice& choice) {
    if (!m_has_looked) {
        look();
    }
    if (m_dead.empty()) {
        return 0;
    }
    const auto found = m_dead.find({to_hex(digest), to_text(choice)});
    return found != m_dead.end() ? static_cast<int>(found->second.size()) : 0;
}

bool TrialMarks::make_file() {
    const Place place = place_of(m_cache_path);
    std::string path = place.folder + "/" + place.name_start + own_file_name(m_clock, "");
    const auto descriptor = m_files.open(path, OpenMode::create_new);
    if (!descriptor.ok()) {
        return false;
    }
    m_own_path = std::move(path);
    m_descriptor = *descriptor;
    std::string line(k_header);
    line.append("pid=").append(std::to_string(::getpid())).append(" boot=").append(boot_id(m_files));
    line.append(" host=").append(plain_host_name()).append("\n");
    // Without a lock nobody could tell that this process lives.
    return m_files.try_lock_range(m_descriptor, 0, 1).ok() && write_all(m_files, m_descriptor, line).ok();
}

bool TrialMarks::begin(const Digest& digest, const Choice& choice) {
    if (m_cannot_write) {
        return false;
    }
    if (m_descriptor < 0 && !make_file()) {
        m_cannot_write = true;
        end();
        return false;
    }
    std::string line(k_try);
    line.append(to_hex(digest)).append(" ").append(to_text(choice)).append("\n");
    return write_all(m_files, m_descriptor, line).ok();
}

void TrialMarks::survived(const Digest& digest, const Choice& choice) {
    if (m_dead.empty()) {
        return;
    }
    const auto found = m_dead.find({to_hex(digest), to_text(choice)});
    if (found != m_dead.end()) {
        for (const std::string& path : found->second) {
            [[maybe_unused]] const IoStatus removed = m_files.unlink(path);
        }
        m_dead.erase(found);
    }
}

void TrialMarks::left_sticky_error(int code) {
    if (m_descriptor >= 0) {
        m_keeps_own = write_all(m_files, m_descriptor, "sticky " + std::to_string(code) + "\n").ok();
    }
}

void TrialMarks::end() {
    if (m_descriptor < 0) {
        return;
    }
    if (!m_keeps_own) {
        [[maybe_unused]] const IoStatus removed = m_files.unlink(m_own_path);
    }
    [[maybe_unused]] const IoStatus closed = m_files.close(m_descriptor);
    m_descriptor = -1;
    m_keeps_own = false;
    m_own_path.clear();
}

}  // namespace cudnn_tune::cache
