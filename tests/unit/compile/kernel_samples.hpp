// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compile/kernel_entry.hpp"

namespace cudnn_tune::compile {

inline ProgramKey sample_key(const std::string& source) {
    return ProgramRead({source.c_str(), "k.cu"}).key({"--gpu-architecture=sm_90"}, {}, {13, 0, "65be"});
}

inline KernelEntry sample_entry(const std::string& source = "source", std::size_t binary_bytes = 500) {
    KernelEntry entry;
    entry.key = sample_key(source);
    entry.compiler = {13, 0, "65be"};
    entry.program_name = "k.cu";
    entry.options = {"--gpu-architecture=sm_90"};
    entry.compile_ns = 812'345'000;
    std::string binary(binary_bytes, '\0');
    for (std::size_t i = 0; i < binary.size(); ++i) {
        binary[i] = static_cast<char>(i * 31 + source.size());
    }
    entry.cubin = binary;
    entry.log = std::string(1, '\0');
    return entry;
}

}  // namespace cudnn_tune::compile
