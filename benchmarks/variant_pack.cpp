// SPDX-License-Identifier: Apache-2.0
// What every execution of the graph API costs a program beside cudnnBackendExecute: a variant pack is created, its
// three attributes are set, and it is finalized and destroyed. Prints the median of it in nanoseconds; bench.sh runs
// this with and without the library. Needs no GPU. The same binary runs on the real cuDNN and on the simulated one.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "abi/backend.hpp"
#include "cudnn/functions.hpp"

using namespace cudnn_tune;  // NOLINT: a program of its own

namespace {

constexpr int k_batches = 301;
constexpr int k_packs = 1000;

bool use_a_pack() {
    std::array<std::int64_t, 3> ids{'x', 'w', 'y'};
    std::array<void*, 3> pointers{};
    std::array<char, 64> memory{};
    pointers.fill(memory.data());
    void* workspace = memory.data();
    abi::BackendDescriptor pack = nullptr;
    return cudnnBackendCreateDescriptor(abi::k_variant_pack_descriptor, &pack) == abi::k_success &&
           cudnnBackendSetAttribute(pack, abi::k_variant_pack_data_pointers, abi::k_type_void_ptr, 3,
                                    pointers.data()) == abi::k_success &&
           cudnnBackendSetAttribute(pack, abi::k_variant_pack_unique_ids, abi::k_type_int64, 3, ids.data()) ==
               abi::k_success &&
           cudnnBackendSetAttribute(pack, abi::k_variant_pack_workspace, abi::k_type_void_ptr, 1, &workspace) ==
               abi::k_success &&
           cudnnBackendFinalize(pack) == abi::k_success && cudnnBackendDestroyDescriptor(pack) == abi::k_success;
}

}  // namespace

int main() {
    // As in a program that has made graphs: the library is at work and knows descriptors.
    abi::BackendDescriptor tensor = nullptr;
    if (cudnnBackendCreateDescriptor(abi::k_tensor_descriptor, &tensor) != abi::k_success) {
        return 1;
    }
    std::vector<double> times_ns;
    for (int batch = 0; batch < k_batches; ++batch) {
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < k_packs; ++i) {
            if (!use_a_pack()) {
                std::fprintf(stderr, "variant_pack: cuDNN refuses\n");
                return 1;
            }
        }
        times_ns.push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() /
                           k_packs);
    }
    std::ranges::nth_element(times_ns, times_ns.begin() + k_batches / 2);
    std::printf("%.1f\n", times_ns[k_batches / 2]);
}
