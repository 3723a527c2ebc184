// SPDX-License-Identifier: Apache-2.0
// doctor: the cache file, whether it can be written and locked, and the kept compilations beside it.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "cache/journal.hpp"
#include "cache/lock_file.hpp"
#include "cli/doctor_report.hpp"
#include "cli/kernel_files.hpp"
#include "cli/words.hpp"
#include "util/file_system.hpp"

namespace cudnn_tune::cli {
namespace {

std::string directory_of(const std::string& path) {
    const std::size_t slash = path.find_last_of('/');
    return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// A byte that no protocol uses (FORMAT.md, "Locks").
constexpr off_t k_free_byte = off_t{1} << 40;

struct flock lock_of(short type) {
    struct flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = k_free_byte;
    lock.l_len = 1;
    return lock;
}

// Locks one byte here, and lets a child see whether it is excluded. Empty if it is.
std::string try_locks(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0) {
        return io_error("open", path, errno).message;
    }
    struct flock mine = lock_of(F_WRLCK);
    if (::fcntl(descriptor, F_SETLK, &mine) != 0) {
        std::string why = io_error("lock", path, errno).message;
        ::close(descriptor);
        return why;
    }
    const pid_t child = ::fork();
    if (child == 0) {
        struct flock theirs = lock_of(F_WRLCK);
        const bool excluded = ::fcntl(descriptor, F_GETLK, &theirs) == 0 && theirs.l_type != F_UNLCK;
        ::_exit(excluded ? 0 : 1);
    }
    int status = 1;
    const bool waited = child > 0 && ::waitpid(child, &status, 0) == child;
    ::close(descriptor);
    return waited && status == 0 ? "" : "a second process is not kept out by a lock on " + path;
}

void check_locks(Checks& checks, const std::string& path, bool is_network) {
    const std::string lock_path = path + ".lock";
    const bool was_there = posix_file_system().stat(lock_path).ok();
    const std::string probe_path = was_there ? lock_path : path + ".lock.doctor-" + std::to_string(::getpid());
    const std::string trouble = try_locks(probe_path);
    if (!was_there) {
        ::unlink(probe_path.c_str());
    }
    if (trouble.empty()) {
        checks.push_back({"locks", CheckState::ok, "locks work there", ""});
        return;
    }
    checks.push_back({"locks", is_network ? CheckState::warning : CheckState::note,
                      "locks do not work there: " + trouble +
                          (is_network ? "; each process will write a file of its own in " + path + ".d/"
                                      : "; programs append without them, which is safe on one machine"),
                      is_network
                          ? "mount the folder with locks, or collect the files now and then: cudnn-tune compact " + path
                          : ""});
}

void check_file(Checks& checks, const std::string& path) {
    cache::Journal journal(posix_file_system(), path, cache::Journal::Access::read);
    journal.refresh();
    switch (journal.state()) {
        case cache::JournalState::missing:
            checks.push_back({"cache", CheckState::ok, path + " does not exist yet; it will be made", ""});
            break;
        case cache::JournalState::usable:
            checks.push_back({"cache", CheckState::ok,
                              path + " can be read: " + std::to_string(journal.line_count()) + " records", ""});
            break;
        case cache::JournalState::newer:
            checks.push_back({"cache", CheckState::warning, journal.problem()->message,
                              "use the newer cudnn-tune, or another file"});
            break;
        case cache::JournalState::unusable:
            checks.push_back({"cache", CheckState::problem, journal.problem()->message, "name another file"});
            break;
    }
    if (journal.counters().damaged_lines > 0) {
        checks.push_back(
            {"cache", CheckState::warning, "it has damaged lines, which are left out", "cudnn-tune verify " + path});
    }
}

// Of the file if there is one, else of its folder.
void check_writable(Checks& checks, const std::string& path, bool exists) {
    FileSystem& files = posix_file_system();
    const std::string target = exists ? path : directory_of(path);
    if (const IoStatus writable = files.check_writable(target); !writable) {
        checks.push_back({"cache", CheckState::warning, io_error("write", target, writable.error_number()).message,
                          "nothing new can be kept: give yourself the right, or use CUDNN_TUNE_MODE=read"});
    }
    if (exists && !files.check_writable(directory_of(path)).ok()) {
        checks.push_back({"cache", CheckState::note,
                          "its folder cannot be written: no lock file, kept compilations or compaction there",
                          "in a container, mount the folder rather than the file"});
    }
}

void check_kernels(Checks& checks, const std::string& path) {
    const char* const setting = std::getenv("CUDNN_TUNE_COMPILE");
    if (setting != nullptr && std::string_view(setting) == "off") {
        checks.push_back(
            {"kernels", CheckState::note, "run-time compilations are not kept: CUDNN_TUNE_COMPILE=off", ""});
        return;
    }
    const auto store = kernel_store(path, StoreAccess::read);
    if (!has_kernels(path)) {
        checks.push_back(
            {"kernels", CheckState::ok, "run-time compilations will be kept in " + store->directory(), ""});
        return;
    }
    if (const std::string trouble = store->trouble(); !trouble.empty()) {
        checks.push_back({"kernels", CheckState::warning, trouble,
                          "make it yours alone: chmod go-w, or delete it; they are code that runs on your GPU"});
        return;
    }
    const KernelTotals totals = kernel_totals(path);
    const std::string count = std::to_string(totals.nb_files - totals.nb_unusable);
    checks.push_back({"kernels", CheckState::ok,
                      count + " kept compilations are trusted and used: " + store->directory() + ", " +
                          size_text(totals.size_bytes) + ", " + duration_text(totals.compile_ns) + " of compiling",
                      ""});
    if (totals.nb_unusable > 0) {
        checks.push_back({"kernels", CheckState::warning, std::to_string(totals.nb_unusable) + " more cannot be used",
                          "cudnn-tune verify " + path});
    }
}

}  // namespace

void check_cache(Checks& checks, const std::string& given) {
    if (given.empty()) {
        checks.push_back({"cache", CheckState::note,
                          "no cache file is named, so every call would be forwarded untouched",
                          "name one with --cache, or set CUDNN_TUNE_CACHE"});
        return;
    }
    FileSystem& files = posix_file_system();
    const auto resolved = resolve_path(files, given);
    if (!resolved) {
        checks.push_back({"cache", CheckState::problem, io_error("use", given, resolved.error_number()).message,
                          "make the folder: mkdir -p " + directory_of(given)});
        return;
    }
    const std::string& path = *resolved;
    const auto info = files.stat(path);
    if (info.ok() && info->kind == FileKind::directory) {
        checks.push_back({"cache", CheckState::problem, path + " is a folder, not a file",
                          "name a file; of a Docker mount, mount the folder above it instead"});
        return;
    }
    check_file(checks, path);
    check_writable(checks, path, info.ok());
    const auto kind = files.file_system_kind(directory_of(path));
    const bool is_network = !kind.ok() || *kind == FileSystemKind::network;
    checks.push_back(
        {"cache", is_network ? CheckState::note : CheckState::ok,
         is_network ? "it is on a network file system (or one of unknown nature)" : "it is on a local file system",
         ""});
    if (files.check_writable(directory_of(path)).ok()) {
        check_locks(checks, path, is_network);
    }
    check_kernels(checks, path);
}

}  // namespace cudnn_tune::cli
