// SPDX-License-Identifier: Apache-2.0
// Which cuDNN a library plays. One source file a variant, variant.cpp.in, sets it; all else is compiled once.
#pragma once

namespace cudnn_tune::sim {

struct Variant {
    const char* name;  // v9, v9b, v8, v7: the folder and the "library" of the call log
    int major;
    bool second;          // v9b: the other cuDNN 9 of tests with two in one process
    int default_version;  // of cudnnGetVersion
    int default_cudart;
    const char* graph_library;  // file names, beside the library that asks
    const char* cnn_library;
};

extern const Variant k_variant;

}  // namespace cudnn_tune::sim
