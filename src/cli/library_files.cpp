// SPDX-License-Identifier: Apache-2.0
#include "cli/library_files.hpp"

#include <sys/auxv.h>

#include <algorithm>
#include <array>
#include <bit>
#include <filesystem>
#include <vector>

namespace cudnn_tune::cli {
namespace {

namespace fs = std::filesystem;

std::string_view file_name(std::string_view path) { return path.substr(path.find_last_of('/') + 1); }

bool is_sanitizer_runtime(std::string_view path) {
    constexpr std::array<std::string_view, 5> prefixes = {"libasan.", "libtsan.", "libubsan.", "liblsan.",
                                                          "libclang_rt."};
    return std::ranges::any_of(prefixes,
                               [name = file_name(path)](std::string_view prefix) { return name.starts_with(prefix); });
}

// Installed, unpacked or in a build tree.
std::vector<fs::path> library_folders(const std::string& tool_directory) {
    const fs::path prefix = fs::path(tool_directory).parent_path();
    return {
        prefix / CUDNN_TUNE_LIBDIR / "cudnn-tune",
        prefix / "lib" / "cudnn-tune",
        prefix / "lib" / CUDNN_TUNE_MULTIARCH / "cudnn-tune",
        prefix / "lib64" / "cudnn-tune",
        prefix / "lib",  // build tree
        tool_directory,
    };
}

}  // namespace

Result<std::string> own_directory() {
    std::error_code error;
    fs::path path = fs::read_symlink("/proc/self/exe", error);
    if (error) {
        // In a root folder without /proc: what the kernel was asked to execute.
        const auto* const executed = std::bit_cast<const char*>(::getauxval(AT_EXECFN));
        path = fs::canonical(executed != nullptr ? executed : "", error);
    }
    if (error) {
        return Error{ErrorCategory::io, "cannot find out where cudnn-tune is: " + error.message()};
    }
    return path.parent_path().string();
}

Result<std::string> find_shim(const std::string& tool_directory) {
    const std::vector<fs::path> folders = library_folders(tool_directory);
    std::error_code error;
    for (const fs::path& folder : folders) {
        const fs::path shim = folder / k_shim_file;
        if (!fs::is_regular_file(shim, error)) {
            continue;
        }
        if (!fs::is_regular_file(folder / k_engine_file, error)) {
            return Error{ErrorCategory::not_found,
                         std::string(k_engine_file) + " is not beside " + shim.string() + "; install both"};
        }
        // The loader splits LD_PRELOAD at both.
        if (shim.string().find_first_of(" :") != std::string::npos) {
            return Error{ErrorCategory::invalid, "the path " + shim.string() +
                                                     " holds a space or a colon and cannot be preloaded; install "
                                                     "cudnn-tune elsewhere"};
        }
        return shim.string();
    }
    return Error{ErrorCategory::not_found, std::string(k_shim_file) + " is not in " + folders[1].string() +
                                               " nor anywhere else that belongs to " + tool_directory +
                                               "/cudnn-tune; install both"};
}

Result<std::string> find_replay(const std::string& tool_directory) {
    std::error_code error;
    const std::vector<fs::path> folders = library_folders(tool_directory);
    const auto found = std::ranges::find_if(
        folders, [&](const fs::path& folder) { return fs::is_regular_file(folder / k_replay_file, error); });
    if (found == folders.end()) {
        return Error{ErrorCategory::not_found, std::string(k_replay_file) + " is not in " + folders[1].string() +
                                                   " nor anywhere else that belongs to " + tool_directory +
                                                   "/cudnn-tune; install it, too"};
    }
    return (*found / k_replay_file).string();
}

std::string preload_list(std::string_view current, const std::string& shim) {
    std::vector<std::string_view> runtimes;
    std::vector<std::string_view> others;
    while (!current.empty()) {
        const std::size_t end = current.find_first_of(" :");
        const std::string_view entry = current.substr(0, end);
        if (!entry.empty() && file_name(entry) != k_shim_file) {
            (is_sanitizer_runtime(entry) && others.empty() ? runtimes : others).push_back(entry);
        }
        current.remove_prefix(end == std::string_view::npos ? current.size() : end + 1);
    }
    std::vector<std::string_view> entries = std::move(runtimes);
    entries.emplace_back(shim);
    entries.insert(entries.end(), others.begin(), others.end());
    std::string list;
    for (const std::string_view entry : entries) {
        list.append(list.empty() ? "" : ":").append(entry);
    }
    return list;
}

}  // namespace cudnn_tune::cli
