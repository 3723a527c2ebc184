// SPDX-License-Identifier: Apache-2.0
#include "cli/kernel_files.hpp"

#include <cerrno>
#include <string_view>

#include "cli/command.hpp"
#include "compile/compile_cache.hpp"

namespace cudnn_tune::cli {

std::unique_ptr<compile::KernelStore> kernel_store(const std::string& cache_path, StoreAccess access) {
    FileSystem& files = posix_file_system();
    compile::StoreOptions options;
    options.writable = access == StoreAccess::write;
    return std::make_unique<compile::KernelStore>(files, system_clock(), compile::kernel_directory(files, cache_path),
                                                  options);
}

bool has_kernels(const std::string& cache_path) {
    FileSystem& files = posix_file_system();
    return files.stat(compile::kernel_directory(files, cache_path)).ok();
}

void for_each_kernel(
    const std::string& cache_path,
    const std::function<void(const compile::StoredFile&, const Result<compile::KernelEntry>&)>& visit) {
    const auto store = kernel_store(cache_path, StoreAccess::read);
    const auto found = store->list();
    if (!found) {
        if (found.error_number() == ENOENT) {
            return;
        }
        throw Failure(k_exit_failed, io_error("read", store->directory(), found.error_number()).message);
    }
    for (const compile::StoredFile& file : *found) {
        visit(file, store->read(file.name));
    }
}

std::string architecture_of(const compile::KernelEntry& entry) {
    using namespace std::string_view_literals;
    for (const std::string_view option : entry.options) {
        for (const std::string_view name : {"--gpu-architecture="sv, "-arch="sv, "-arch "sv}) {
            if (option.starts_with(name)) {
                return std::string(option.substr(name.size()));
            }
        }
    }
    return "";
}

KernelTotals kernel_totals(const std::string& cache_path) {
    KernelTotals totals;
    for_each_kernel(cache_path, [&](const compile::StoredFile& file, const Result<compile::KernelEntry>& entry) {
        totals.nb_files += 1;
        totals.size_bytes += file.size_bytes;
        totals.nb_unusable += entry.ok() ? 0 : 1;
        totals.compile_ns += entry.ok() ? entry->compile_ns : 0;
    });
    return totals;
}

KernelCopies copy_kernels(const std::string& from_cache, const std::string& to_cache) {
    KernelCopies copies;
    const auto target = kernel_store(to_cache, StoreAccess::write);
    for_each_kernel(from_cache, [&](const compile::StoredFile&, const Result<compile::KernelEntry>& entry) {
        if (!entry) {
            copies.nb_left_out += 1;
            return;
        }
        if (target->load(entry->key).ok()) {
            return;
        }
        if (const Status saved = target->save(*entry); !saved) {
            throw Failure(k_exit_failed, saved.error().message);
        }
        copies.nb_copied += 1;
    });
    return copies;
}

}  // namespace cudnn_tune::cli
