// SPDX-License-Identifier: Apache-2.0
// The packages of a Python installation that use cuDNN, found by looking into its folders.
#pragma once

#include <string>
#include <vector>

#include "cli/cudnn_use.hpp"

namespace cudnn_tune::cli {

struct PythonInstallation {
    std::string executable;  // empty: it did not say
    std::vector<CudnnUser> users;
    std::string cudnn;  // the library of the package nvidia-cudnn; empty: there is none
};
// `python` is started once, to ask for its search path. Packages that are there without a part for NVIDIA GPUs have
// CudnnUse::none.
[[nodiscard]] PythonInstallation look_at_python(const std::string& python);

// In given folders: the deciding halves.
[[nodiscard]] std::string cudnn_in_folders(const std::vector<std::string>& folders);
[[nodiscard]] std::vector<CudnnUser> users_in_folders(const std::vector<std::string>& folders);

}  // namespace cudnn_tune::cli
