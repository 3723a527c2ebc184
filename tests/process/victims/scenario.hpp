// SPDX-License-Identifier: Apache-2.0
// What every client of the fake cuDNN does, whatever way it found the functions. It prints what it was answered.
#pragma once

#include <cstdio>

#include "abi/cudnn.hpp"

namespace victims {

using namespace cudnn_tune::abi;  // NOLINT: this is a C interface

struct Cudnn {
    GetAlgorithmV7Fn get_v7;
    FindAlgorithmFn find;
    FindAlgorithmExFn find_ex;
    FindAlgorithmFn find_by_jump;  // the fake's function jumps to another one; may be null
    BackendCreateDescriptorFn create;
    BackendDescriptorFn initialize;
    BackendDescriptorFn destroy;
    BackendSetAttributeFn set;
    BackendGetAttributeFn get;
};

// Algorithm of get_v7, find, find_ex, find_by_jump (or find_ex again) and count of a results query; a status instead
// where one was returned. Every result is used after its call, so that no call is a jump: the shim tells clients by the
// return address.
inline void run(const char* who, const Cudnn& cudnn) {
    int values[5] = {};
    for (int i = 0; i < 4; ++i) {
        AlgoPerf result{};
        int returned = 0;
        Status status = 0;
        if (i == 0) {
            status = cudnn.get_v7(nullptr, nullptr, nullptr, nullptr, nullptr, 1, &returned, &result);
        } else if (i == 1) {
            status = cudnn.find(nullptr, nullptr, nullptr, nullptr, nullptr, 1, &returned, &result);
        } else if (i == 3 && cudnn.find_by_jump != nullptr) {
            status = cudnn.find_by_jump(nullptr, nullptr, nullptr, nullptr, nullptr, 1, &returned, &result);
        } else {
            status = cudnn.find_ex(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, 1, &returned,
                                   &result, nullptr, 0);
        }
        values[i] = status == k_success && returned == 1 ? result.algo : status;
    }
    BackendDescriptor descriptor = nullptr;
    std::int64_t count = 0;
    Status status = cudnn.create(4, &descriptor);
    status |= cudnn.set(descriptor, 200, 8, 1, nullptr);
    const Status refused = cudnn.set(descriptor, 201, 15, -1, nullptr);
    status |= cudnn.get(descriptor, 202, 15, 0, &count, nullptr);
    std::int64_t other = 0;
    status |= cudnn.get(descriptor, 200, 15, 0, &other, nullptr);
    status |= cudnn.initialize(descriptor);
    status |= cudnn.destroy(descriptor);
    values[4] = status == k_success && refused != k_success ? static_cast<int>(count) : -1;
    // The step that every training step repeats.
    BackendDescriptor pack = nullptr;
    status = cudnn.create(16, &pack);
    status |= cudnn.set(pack, 1001, 6, 1, nullptr);
    status |= cudnn.destroy(pack);
    std::printf("%s: get_v7 %d, find %d, find_ex %d, jump %d, results %d, step %d\n", who, values[0], values[1],
                values[2], values[3], values[4], status);
    std::fflush(stdout);
}

}  // namespace victims
