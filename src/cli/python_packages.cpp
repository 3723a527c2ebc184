// SPDX-License-Identifier: Apache-2.0
#include "cli/python_packages.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string_view>

#include "cli/child_process.hpp"

namespace cudnn_tune::cli {
namespace {

namespace fs = std::filesystem;

constexpr int k_python_timeout_s = 30;

struct KnownPackage {
    std::string_view name;  // for people
    std::string_view folder;
    std::string_view distribution;          // the beginning of its .dist-info folder, up to the version
    std::array<std::string_view, 3> parts;  // the file that calls cuDNN, in the order of likelihood
};

// Which file of each calls cuDNN was looked up in their packages for Linux.
constexpr std::array<KnownPackage, 8> k_packages{{
    {"PyTorch", "torch", "torch-", {"lib/libtorch_cuda.so", "lib/libtorch_cuda_cpp.so", ""}},
    {"JAX", "jax_plugins/xla_cuda13", "jax_cuda13_plugin-", {"xla_cuda_plugin.so", "", ""}},
    {"JAX", "jax_plugins/xla_cuda12", "jax_cuda12_plugin-", {"xla_cuda_plugin.so", "", ""}},
    {"TensorFlow", "tensorflow", "tensorflow-", {"libtensorflow_cc.so.2", "libtensorflow_framework.so.2", ""}},
    {"ONNX Runtime", "onnxruntime", "onnxruntime_gpu-", {"capi/libonnxruntime_providers_cuda.so", "", ""}},
    {"Paddle", "paddle", "paddlepaddle_gpu-", {"base/libpaddle.so", "libs/libphi_core.so", "fluid/libpaddle.so"}},
    {"CuPy", "cupy", "cupy_cuda", {"cuda/cudnn.so", "", ""}},
    {"cudnn-frontend", "cudnn", "nvidia_cudnn_frontend-", {"_compiled_module.so", "", ""}},
}};

// The file itself, or one with Python's suffix ("_compiled_module.cpython-312-x86_64-linux-gnu.so").
std::string find_part(const fs::path& package, std::string_view part) {
    std::error_code error;
    const fs::path exact = package / part;
    if (part.empty() || fs::is_regular_file(exact, error)) {
        return part.empty() ? "" : exact.string();
    }
    const std::string stem = exact.stem().string() + ".";
    for (const auto& entry : fs::directory_iterator(exact.parent_path(), error)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with(stem) && name.ends_with(".so")) {
            return entry.path().string();
        }
    }
    return "";
}

std::string version_in(const fs::path& folder, std::string_view distribution) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename().string();
        constexpr std::string_view suffix = ".dist-info";
        if (name.starts_with(distribution) && name.ends_with(suffix)) {
            const std::string rest =
                name.substr(distribution.size(), name.size() - suffix.size() - distribution.size());
            return rest.substr(rest.find('-') == std::string::npos ? 0 : rest.find('-') + 1);
        }
    }
    return "";
}

CudnnUser user_of(const KnownPackage& known, const fs::path& folder) {
    const fs::path package = folder / known.folder;
    const std::string version = version_in(folder, known.distribution);
    CudnnUser user{std::string(known.name) + (version.empty() ? "" : " " + version), CudnnUse::none, package.string()};
    for (const std::string_view part : known.parts) {
        const std::string file = find_part(package, part);
        const CudnnUse use = file.empty() ? CudnnUse::none : cudnn_use_of(file);
        if (use != CudnnUse::none) {
            user.use = use;
            user.file = file;
            break;
        }
    }
    return user;
}

}  // namespace

std::vector<CudnnUser> users_in_folders(const std::vector<std::string>& folders) {
    std::vector<CudnnUser> users;
    for (const KnownPackage& known : k_packages) {
        std::error_code error;
        // Python takes the first one, too.
        const auto folder = std::ranges::find_if(folders, [&](const std::string& each) {
            return !each.empty() && fs::is_directory(fs::path(each) / known.folder, error);
        });
        if (folder != folders.end()) {
            users.push_back(user_of(known, *folder));
        }
    }
    return users;
}

std::string cudnn_in_folders(const std::vector<std::string>& folders) {
    for (const std::string& folder : folders) {
        for (const char* const name : {"libcudnn.so.9", "libcudnn.so.8"}) {
            std::error_code error;
            const fs::path file = fs::path(folder) / "nvidia/cudnn/lib" / name;
            if (!folder.empty() && fs::is_regular_file(file, error)) {
                return file.string();
            }
        }
    }
    return "";
}

PythonInstallation look_at_python(const std::string& python) {
    const auto asked = run_and_capture({python, "-c", "import sys; print(sys.executable, *sys.path, sep='\\n')"},
                                       {{"LD_PRELOAD", std::nullopt}}, k_python_timeout_s);
    PythonInstallation found;
    if (!asked || asked->exit_code != 0) {
        return found;
    }
    std::istringstream lines(asked->output);
    std::getline(lines, found.executable);
    std::vector<std::string> folders;
    for (std::string line; std::getline(lines, line);) {
        folders.push_back(line);
    }
    found.users = users_in_folders(folders);
    found.cudnn = cudnn_in_folders(folders);
    return found;
}

}  // namespace cudnn_tune::cli
