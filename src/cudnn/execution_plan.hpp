// SPDX-License-Identifier: Apache-2.0
// Execution plans and the variant packs that say where their tensors are.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "cudnn/graph_configurations.hpp"
#include "cudnn/problem_graph.hpp"

namespace cudnn_tune::cudnn {

// Builds the plan of `choice` for `handle`. On success `plan` is finalized, and nothing of `target` is needed any more.
[[nodiscard]] abi::Status build_plan(const RealCudnn&, abi::Handle, const GraphTarget&, const key::GraphChoice&,
                                     OwnDescriptor& plan);

// Fills and finalizes an empty pack. Addresses are device addresses, or host addresses of by-value scalars.
[[nodiscard]] abi::Status fill_pack(const RealCudnn&, abi::BackendDescriptor pack,
                                    std::span<const std::int64_t> unique_ids, std::span<void* const> addresses,
                                    void* workspace);

// A plan of a problem without pointwise operations that a program runs again and again, for one handle. Filled packs
// are kept: training loops come with the same addresses at every step, and filling one costs 0.3 us and seven
// allocations of cuDNN's (seen on 9.19).
class BoundPlan {
  public:
    [[nodiscard]] static std::optional<BoundPlan> build(const RealCudnn&, abi::Handle, const key::Problem&,
                                                        const key::GraphChoice&, Accumulate);

    [[nodiscard]] std::int64_t workspace_bytes() const { return m_workspace_bytes; }

    // A fused convolution has x, w, z, bias and its result in memory.
    static constexpr std::size_t k_most_tensors = 5;
    struct Addresses {
        std::array<void*, k_most_tensors> tensors{};  // those that are not virtual, in their order in the problem
        void* workspace = nullptr;
        bool operator==(const Addresses&) const = default;
    };
    // Of these, for one plan: ResNet-101 has 22 convolutions that are alike. A pack takes 4.5 KiB (seen on 9.19), and
    // is made when it is first needed.
    static constexpr std::size_t k_most_packs = 32;
    // Enqueues it on the handle's stream.
    [[nodiscard]] abi::Status run(const RealCudnn&, abi::Handle, const Addresses&);

  private:
    struct Pack {
        OwnDescriptor descriptor;
        Addresses at;
        bool is_filled = false;
    };
    [[nodiscard]] Pack* filled_pack(const Addresses&);
    [[nodiscard]] Pack* empty_pack(const RealCudnn&);  // null: the library refuses

    OwnDescriptor m_plan;
    std::int64_t m_workspace_bytes = 0;
    std::vector<std::int64_t> m_unique_ids;  // of the tensors in memory
    std::vector<Pack> m_packs;
    std::size_t m_last_pack = 0;
    std::size_t m_next_pack = 0;  // the one to be filled again, once there are as many as there may be
};

}  // namespace cudnn_tune::cudnn
