// SPDX-License-Identifier: Apache-2.0
#include "cli/cudnn_use.hpp"

#include <elf.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/child_process.hpp"
#include "cli/elf_file.hpp"
#include "cli/python_packages.hpp"

namespace cudnn_tune::cli {
namespace {

namespace fs = std::filesystem;

#if defined(__x86_64__)
constexpr int k_own_machine = EM_X86_64;
#else
constexpr int k_own_machine = EM_AARCH64;
#endif
constexpr int k_loader_timeout_s = 20;
// "#!/usr/bin/env interpreter", and an interpreter that is a script itself, at most so often.
constexpr int k_most_interpreters = 4;

bool is_cudnn_name(std::string_view name) {
    name = name.substr(name.find_last_of('/') + 1);
    return name.starts_with("libcudnn.so") || name.starts_with("libcudnn_");
}

std::vector<std::string> words_of(const std::string& line) {
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) {
        words.push_back(word);
    }
    return words;
}

// The words after "#!"; empty for anything else.
std::vector<std::string> script_line(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string start(256, '\0');
    file.read(start.data(), static_cast<std::streamsize>(start.size()));
    start.resize(static_cast<std::size_t>(file.gcount()));
    return start.starts_with("#!") ? words_of(start.substr(2, start.find('\n') - 2)) : std::vector<std::string>();
}

bool is_python_name(const std::string& path) { return fs::path(path).filename().string().starts_with("python"); }

// What the loader would map, resolved as it would. Its own program is not started: --list is ldd's way.
struct Closure {
    std::vector<std::string> files;
    std::vector<std::string> missing;
};
Closure closure_of(const ElfFile& elf) {
    Closure closure;
    const auto listed =
        run_and_capture({elf.interpreter, "--list", elf.path},
                        {{"LD_PRELOAD", std::nullopt}, {"LD_TRACE_LOADED_OBJECTS", std::nullopt}}, k_loader_timeout_s);
    if (!listed) {
        return closure;
    }
    std::istringstream lines(listed->output);
    for (std::string line; std::getline(lines, line);) {
        const std::vector<std::string> words = words_of(line);  // name => path (address)
        if (words.size() < 3 || words[1] != "=>") {
            continue;
        }
        if (words[2] == "not") {
            closure.missing.push_back(words[0]);
        } else {
            closure.files.push_back(words[2]);
        }
    }
    return closure;
}

std::string why_out_of_reach(const std::string& path, const ElfFile& elf) {
    struct stat info {};
    if (::stat(path.c_str(), &info) == 0 && (info.st_mode & (S_ISUID | S_ISGID)) != 0) {
        return "it is set-user-ID or set-group-ID, for which the loader ignores LD_PRELOAD";
    }
    if (!elf.is_64_bit || elf.machine != k_own_machine) {
        return "it is a program for another kind of machine than this library";
    }
    if (elf.interpreter.empty()) {
        return elf.defines_cudnn ? "it is linked statically, with cuDNN in it"
                                 : "it is linked statically, so no library can be put in front of it";
    }
    if (elf.interpreter.find("ld-linux") == std::string::npos) {
        return "its loader is " + elf.interpreter + ", not that of glibc";
    }
    return "";
}

void look_at_elf(const ElfFile& elf, ProgramReport& report) {
    report.out_of_reach = why_out_of_reach(report.path, elf);
    if (!report.out_of_reach.empty()) {
        return;
    }
    if (const CudnnUse use = cudnn_use_of(elf.path); use != CudnnUse::none) {
        report.users.push_back({elf.path, use, elf.path});
    }
    const Closure closure = closure_of(elf);
    report.missing = closure.missing;
    for (const std::string& file : closure.files) {
        if (is_cudnn_name(file)) {
            report.cudnn = fs::path(file).filename().string().starts_with("libcudnn.so") ? file : report.cudnn;
            continue;
        }
        if (const CudnnUse use = cudnn_use_of(file); use != CudnnUse::none) {
            report.users.push_back({file, use, file});
        }
    }
}

}  // namespace

CudnnUse cudnn_use_of(const std::string& path) {
    const auto elf = read_elf(path);
    if (!elf || is_cudnn_name(elf->soname)) {
        return CudnnUse::none;
    }
    if (std::ranges::any_of(elf->needed, is_cudnn_name)) {
        return CudnnUse::linked;
    }
    // Also functions with cuDNN's own names that look the real ones up (JAX's plugin, ONNX Runtime): the hook gets
    // those.
    if (file_holds(path, "libcudnn.so")) {
        return CudnnUse::looked_up;
    }
    return elf->defines_cudnn ? CudnnUse::built_in : CudnnUse::none;
}

ProgramReport look_at_program(const std::vector<std::string>& argv) {
    ProgramReport report;
    report.path = find_program(argv.front());
    std::string program = report.path;
    // torchrun and its like are scripts of Python; what is called python may be a script that finds the real one.
    std::string python = is_python_name(program) ? program : "";
    for (int depth = 0; depth < k_most_interpreters && !program.empty(); ++depth) {
        const std::vector<std::string> line = script_line(program);
        if (line.empty()) {
            break;
        }
        const bool is_env = fs::path(line[0]).filename() == "env" && line.size() > 1;
        const std::string& named = is_env ? line[line[1] == "-S" && line.size() > 2 ? 2 : 1] : line[0];
        program = find_program(named);
        report.interpreter = program.empty() ? named : program;
        python = python.empty() && is_python_name(program) ? program : python;
    }
    if (program.empty()) {
        return report;
    }
    report.is_python = !python.empty();
    if (report.is_python) {
        PythonInstallation found = look_at_python(python);
        program = found.executable.empty() ? program : found.executable;
        report.users = std::move(found.users);
        report.cudnn = std::move(found.cudnn);
    }
    std::error_code error;
    const fs::path real = fs::canonical(program, error);
    if (const auto elf = read_elf(error ? program : real.string())) {
        look_at_elf(*elf, report);
    }
    return report;
}

}  // namespace cudnn_tune::cli
