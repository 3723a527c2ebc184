// SPDX-License-Identifier: Apache-2.0
// The kept compilations beside a cache file (cache_format/KERNELS.md), for commands that list, count or check them.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "compile/kernel_store.hpp"

namespace cudnn_tune::cli {

enum class StoreAccess : bool { read, write };
// Touches nothing yet. Throws nothing.
[[nodiscard]] std::unique_ptr<compile::KernelStore> kernel_store(const std::string& cache_path, StoreAccess);

// Whether a directory of kept compilations exists.
[[nodiscard]] bool has_kernels(const std::string& cache_path);

// Every file, by name, with what it holds or why it is not used. Only one is in memory at a time. Throws Failure if
// there is a directory that cannot be read.
void for_each_kernel(const std::string& cache_path,
                     const std::function<void(const compile::StoredFile&, const Result<compile::KernelEntry>&)>& visit);

// Of "--gpu-architecture=sm_90a": "sm_90a"; empty if the options name none.
[[nodiscard]] std::string architecture_of(const compile::KernelEntry&);

struct KernelTotals {
    std::size_t nb_files = 0;
    std::size_t nb_unusable = 0;
    std::int64_t size_bytes = 0;
    std::int64_t compile_ns = 0;  // what a process saves that needs all of them
};
[[nodiscard]] KernelTotals kernel_totals(const std::string& cache_path);

struct KernelCopies {
    std::size_t nb_copied = 0;    // that were not there
    std::size_t nb_left_out = 0;  // that cannot be used
};
// The kept compilations beside one cache file to those beside another, each whole or not at all. Only what is trusted
// and whole is copied. Throws Failure.
KernelCopies copy_kernels(const std::string& from_cache, const std::string& to_cache);

}  // namespace cudnn_tune::cli
