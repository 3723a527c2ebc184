// SPDX-License-Identifier: Apache-2.0
// How a program gets at cuDNN, as far as its files tell without running it, and so whether the library would catch it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cudnn_tune::cli {

enum class CudnnUse : std::uint8_t {
    none,       // nothing names cuDNN
    linked,     // DT_NEEDED: LD_PRELOAD catches it
    looked_up,  // dlopen and dlsym: the dlsym hook catches it
    built_in,   // linked statically: out of reach
};

// Of one ELF file, not of what it needs.
[[nodiscard]] CudnnUse cudnn_use_of(const std::string& path);

// A part of the program that uses cuDNN, or could.
struct CudnnUser {
    std::string name;  // "PyTorch 2.11.0", or the path of a file
    CudnnUse use = CudnnUse::none;
    std::string file;  // where it was seen
};

struct ProgramReport {
    std::string path;         // empty: there is no such program
    std::string interpreter;  // of a script: what runs it
    bool is_python = false;
    std::string out_of_reach;          // why LD_PRELOAD does nothing at all; empty if it works
    std::vector<std::string> missing;  // libraries that the loader does not find
    std::vector<CudnnUser> users;
    std::string cudnn;  // the file of the library that it would use, as far as that can be told
};

// argv[0] is searched in PATH. Starts the dynamic loader in its listing mode, and a Python interpreter to ask for its
// search path; never the program itself.
[[nodiscard]] ProgramReport look_at_program(const std::vector<std::string>& argv);

}  // namespace cudnn_tune::cli
