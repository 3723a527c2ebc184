// SPDX-License-Identifier: Apache-2.0
#include "util/file_system.hpp"

#include <algorithm>
#include <array>
#include <system_error>

namespace cudnn_tune {
namespace {

std::string parent_of(const std::string& path) {
    const std::size_t slash = path.find_last_of('/');
    if (slash == std::string::npos) {
        return ".";
    }
    return slash == 0 ? "/" : path.substr(0, slash);
}

std::string base_of(const std::string& path) {
    const std::size_t slash = path.find_last_of('/');
    return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string join(const std::string& directory, const std::string& name) {
    return directory == "/" ? "/" + name : directory + "/" + name;
}

int refusal_of(const FileInfo& info) {
    if (info.kind == FileKind::regular) {
        return 0;
    }
    return info.kind == FileKind::directory ? EISDIR : ENODEV;
}

}  // namespace

Error io_error(std::string_view action, std::string_view path, int error_number) {
    const ErrorCategory category = error_number == ENOENT ? ErrorCategory::not_found : ErrorCategory::io;
    std::string reason = std::generic_category().message(error_number);
    if (error_number == ENODEV) {
        reason = "not a regular file";
    }
    return {category, "cannot " + std::string(action) + " " + std::string(path) + ": " + reason};
}

IoStatus lock_range(FileSystem& files, Clock& clock, int descriptor, std::int64_t offset, std::int64_t length,
                    std::int64_t deadline_ns) {
    constexpr std::int64_t first_pause_ns = 1'000'000;
    constexpr std::int64_t longest_pause_ns = 20'000'000;
    std::int64_t pause_ns = first_pause_ns;
    while (true) {
        IoStatus result = files.try_lock_range(descriptor, offset, length);
        if (result.error_number() != EAGAIN) {
            return result;
        }
        const std::int64_t left_ns = deadline_ns - clock.monotonic_ns();
        if (left_ns <= 0) {
            return IoStatus::failure(ETIMEDOUT);
        }
        clock.sleep_ns(std::min(pause_ns, left_ns));
        pause_ns = std::min(pause_ns * 2, longest_pause_ns);
    }
}

IoResult<OpenFile> open_regular(FileSystem& files, const std::string& path, OpenMode mode) {
    if (const auto before = files.stat(path); before.ok()) {
        if (const int refusal = refusal_of(*before); refusal != 0) {
            return IoResult<OpenFile>::failure(refusal);
        }
    }
    const auto descriptor = files.open(path, mode);
    if (!descriptor) {
        return IoResult<OpenFile>::failure(descriptor.error_number());
    }
    const auto info = files.fstat(*descriptor);
    const int refusal = info.ok() ? refusal_of(*info) : info.error_number();
    if (refusal != 0) {
        (void)files.close(*descriptor);
        return IoResult<OpenFile>::failure(refusal);
    }
    return OpenFile{*descriptor, *info};
}

IoResult<std::size_t> read_fully(FileSystem& files, int descriptor, std::span<char> buffer, std::int64_t offset) {
    std::size_t done = 0;
    while (done < buffer.size()) {
        const auto count = files.pread(descriptor, buffer.subspan(done), offset + static_cast<std::int64_t>(done));
        if (!count) {
            return count;
        }
        if (*count == 0) {
            break;
        }
        done += *count;
    }
    return done;
}

IoStatus write_all(FileSystem& files, int descriptor, std::string_view bytes) {
    while (!bytes.empty()) {
        const auto count = files.write(descriptor, bytes);
        if (!count) {
            return IoStatus::failure(count.error_number());
        }
        if (*count == 0) {
            return IoStatus::failure(EIO);  // a kernel that takes nothing and gives no reason must not spin us
        }
        bytes.remove_prefix(*count);
    }
    return io_ok();
}

IoResult<std::string> resolve_path(FileSystem& files, const std::string& path) {
    constexpr int most_links = 40;  // as the kernel's own limit
    std::string current = path;
    for (int i = 0; i < most_links; ++i) {
        auto resolved = files.real_path(current);
        if (resolved.ok() || resolved.error_number() != ENOENT) {
            return resolved;
        }
        const auto target = files.read_link(current);
        if (!target) {
            auto directory = files.real_path(parent_of(current));
            if (!directory) {
                return directory;
            }
            return join(*directory, base_of(current));
        }
        current = target->starts_with('/') ? *target : join(parent_of(current), *target);
    }
    return IoResult<std::string>::failure(ELOOP);
}

IoStatus make_directories(FileSystem& files, const std::string& path) {
    const IoStatus made = files.mkdir(path);
    if (made.error_number() == ENOENT && parent_of(path) != path) {
        if (IoStatus above = make_directories(files, parent_of(path)); !above) {
            return above;
        }
        const IoStatus again = files.mkdir(path);
        return again.error_number() == EEXIST ? io_ok() : again;
    }
    return made.error_number() == EEXIST ? io_ok() : made;
}

IoResult<std::string> read_file(FileSystem& files, const std::string& path, std::int64_t limit_bytes) {
    const auto file = open_regular(files, path, OpenMode::read);
    if (!file) {
        return IoResult<std::string>::failure(file.error_number());
    }
    std::string bytes;
    std::array<char, 65536> buffer;
    int failure = 0;
    while (failure == 0) {
        const auto count = files.pread(file->descriptor, buffer, static_cast<std::int64_t>(bytes.size()));
        if (!count) {
            failure = count.error_number();
        } else if (*count == 0) {
            break;
        } else if (static_cast<std::int64_t>(bytes.size() + *count) > limit_bytes) {
            failure = EFBIG;
        } else {
            bytes.append(buffer.data(), *count);
        }
    }
    (void)files.close(file->descriptor);
    if (failure != 0) {
        return IoResult<std::string>::failure(failure);
    }
    return bytes;
}

}  // namespace cudnn_tune
