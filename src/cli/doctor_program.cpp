// SPDX-License-Identifier: Apache-2.0
// doctor: would the library catch a program's cuDNN?
#include "cli/cudnn_use.hpp"
#include "cli/doctor_report.hpp"

namespace cudnn_tune::cli {
namespace {

Check check_of(const CudnnUser& user, bool is_python) {
    switch (user.use) {
        case CudnnUse::linked:
            return {"program", CheckState::ok,
                    user.name + " is linked with cuDNN: caught by LD_PRELOAD (" + user.file + ")", ""};
        case CudnnUse::looked_up:
            return {"program", CheckState::ok,
                    user.name + " looks cuDNN up at run time: caught by the dlsym hook (" + user.file + ")", ""};
        case CudnnUse::built_in:
            return {"program", CheckState::problem,
                    user.name + " has cuDNN linked into it: its calls cannot be caught (" + user.file + ")",
                    "build it with the shared libcudnn"};
        case CudnnUse::none:
            break;
    }
    return {"program", CheckState::note,
            user.name + " has no part here that uses cuDNN: nothing to catch (" + user.file + ")",
            is_python ? "install its package for NVIDIA GPUs" : ""};
}

}  // namespace

void check_program(Checks& checks, const std::vector<std::string>& program) {
    const ProgramReport report = look_at_program(program);
    const auto add = [&](CheckState state, const std::string& what, const std::string& fix) {
        checks.push_back({"program", state, what, fix});
    };
    if (report.path.empty()) {
        add(CheckState::problem, "there is no program " + program.front(), "");
        return;
    }
    if (!report.out_of_reach.empty()) {
        add(CheckState::problem, report.path + " cannot be caught: " + report.out_of_reach, "");
        return;
    }
    for (const std::string& library : report.missing) {
        add(CheckState::problem, "the loader does not find " + library, "LD_LIBRARY_PATH names further folders");
    }
    bool is_caught = false;
    for (const CudnnUser& user : report.users) {
        checks.push_back(check_of(user, report.is_python));
        is_caught |= user.use == CudnnUse::linked || user.use == CudnnUse::looked_up;
    }
    if (report.users.empty()) {
        add(CheckState::warning,
            report.path + " and its libraries do not name cuDNN" +
                (report.is_python ? ", and neither does a package known to this tool" : ""),
            "cudnn-tune run --stats tells whether a plugin that it loads asks cuDNN; cuDNN linked statically is not "
            "caught");
    }
}

}  // namespace cudnn_tune::cli
