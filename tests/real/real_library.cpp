// SPDX-License-Identifier: Apache-2.0
#include "real_library.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "util/symbols.hpp"

namespace cudnn_tune::test {
namespace {

std::string find_library(std::string& trouble) {
    const char* const root = std::getenv("CUDNN_ROOT");
    if (root == nullptr || *root == '\0') {
        const std::string configured = CUDNN_TUNE_TEST_CUDNN;
        if (configured.empty()) {
            trouble = "no real cuDNN was found when this was configured; set CUDNN_ROOT (scripts/fetch-cudnn.sh)";
        }
        return configured;
    }
    for (const char* const folder : {"lib", "lib64", "."}) {
        for (const char* const name : {"libcudnn.so.9", "libcudnn.so.8"}) {
            const std::filesystem::path path = std::filesystem::path(root) / folder / name;
            if (std::filesystem::exists(path)) {
                return path.string();
            }
        }
    }
    trouble = std::string("CUDNN_ROOT is '") + root + "', which holds no libcudnn.so.9 or .so.8";
    return "";
}

std::string read_file(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Later versions do not load all of their parts without a libcuda.so.1 (no_device_driver.cpp). True if ours is needed.
bool provide_driver(void* cudnn) {
    constexpr std::size_t k_first_version_that_may_need_it = 92500;
    abi::GetVersionFn version = nullptr;
    return find_symbol(dlsym, cudnn, "cudnnGetVersion", version) && version() >= k_first_version_that_may_need_it &&
           dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) == nullptr &&
           dlopen(CUDNN_TUNE_TEST_NO_DEVICE_DRIVER, RTLD_LAZY | RTLD_LOCAL) != nullptr;
}

// Where cuDNN looks for it: beside itself, in the sibling folder of Python's packages, and where the loader looks.
bool has_cublas(const std::filesystem::path& folder, int cuda_major) {
    std::string name = "libcublasLt.so.";
    name += std::to_string(cuda_major);
    const std::filesystem::path packages = folder.parent_path().parent_path();
    for (const std::filesystem::path& path :
         {folder / name, packages / "cublas/lib" / name, packages / "cu13/lib" / name, std::filesystem::path(name)}) {
        if (dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL) != nullptr) {
            return true;
        }
    }
    return false;
}

RealLibrary open_library() {
    RealLibrary library;
    const std::string path = find_library(library.trouble);
    if (path.empty()) {
        return library;
    }
    library.handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library.handle == nullptr) {
        library.trouble = std::string("the real cuDNN cannot be loaded: ") + dlerror();
        return library;
    }
    library.path = path;
    library.search_path = std::filesystem::path(path).parent_path().string();
    if (provide_driver(library.handle)) {
        library.search_path.append(1, ':').append(
            std::filesystem::path(CUDNN_TUNE_TEST_NO_DEVICE_DRIVER).parent_path().string());
    }
    library.real = cudnn::RealCudnn::of(library.handle, dlsym);
    library.api = BackendApi::of(library.handle);
    library.has_cublas = has_cublas(std::filesystem::path(path).parent_path(), library.real.cudart_major);
    library.device_json = read_file(CUDNN_TUNE_TEST_DEVICE);
    return library;
}

}  // namespace

const RealLibrary& RealLibrary::instance() {
    // Never destroyed: cuDNN's own statics may be gone before ours.
    static const RealLibrary* const library = [] {
        auto* const opened = new RealLibrary(open_library());
        if (opened->api && opened->has_cublas) {
            opened->device_properties = build_device_properties(*opened->api, opened->device_json);
        }
        return opened;
    }();
    return *library;
}

bool full_run() { return std::getenv("CUDNN_TUNE_TEST_FULL") != nullptr; }

std::vector<ConvolutionShape> shapes_to_test(std::size_t sample_size) {
    const std::vector<ConvolutionShape> all = read_all_shapes(CUDNN_TUNE_TEST_SHAPES);
    if (full_run() || all.size() <= sample_size) {
        return all;
    }
    std::vector<ConvolutionShape> sample;
    for (std::size_t i = 0; i < sample_size; ++i) {
        sample.push_back(all[i * all.size() / sample_size]);
    }
    return sample;
}

}  // namespace cudnn_tune::test
