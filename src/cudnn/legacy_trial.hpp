// SPDX-License-Identifier: Apache-2.0
// What the legacy API can do for one problem: which candidates there are, what workspace they need, and running them.
// Other math types are tried on private copies of the convolution descriptor; the caller's descriptors only get read.
// For one thread; lives for one call of the program.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "cudnn/legacy_key.hpp"
#include "key/candidate.hpp"

namespace cudnn_tune::cudnn {

// Device addresses of the convolution's tensors, by role.
struct LegacyBuffers {
    void* x = nullptr;
    void* w = nullptr;
    void* y = nullptr;
    void* workspace = nullptr;
    std::size_t workspace_bytes = 0;
};

struct LegacyBytes {
    std::int64_t x = 0;
    std::int64_t w = 0;
    std::int64_t y = 0;
};

class LegacyTrial {
  public:
    LegacyTrial(const RealCudnn& real, abi::Handle handle, const LegacyDescriptors& descriptors, const LegacyKey& key)
        : m_real(real), m_handle(handle), m_descriptors(descriptors), m_key(key) {}
    LegacyTrial(const LegacyTrial&) = delete;
    LegacyTrial& operator=(const LegacyTrial&) = delete;
    ~LegacyTrial();

    // Every algorithm under every one of `math_types`: first the real library's own list in its order (rank), failed
    // entries with their status; then what that list leaves out and the workspace query accepts. Empty if the real
    // library refuses the question.
    [[nodiscard]] std::vector<key::Candidate> candidates(std::span<const abi::MathType> math_types);
    // What the real library says now; nothing if it refuses the choice.
    [[nodiscard]] std::optional<std::int64_t> workspace_bytes(const key::LegacyChoice&);
    // Algorithms that compute this without rounding its inputs: under the math type FMA, which forbids tensor cores,
    // those that sum products as they are, as FFT and Winograd do not. They need no workspace or little; what needs
    // more than `most_bytes` is left out.
    [[nodiscard]] std::vector<key::LegacyChoice> exact_choices(std::int64_t most_bytes);
    // The caller's convolution descriptor, or a copy of it with another math type; null if that cannot be made.
    [[nodiscard]] const void* convolution_with(abi::MathType math_type);
    // Enqueues one run on the handle's stream. alpha is 1 and beta 0: the result tensor is overwritten.
    [[nodiscard]] abi::Status run(const key::LegacyChoice&, const LegacyBuffers&);
    // How much memory the three tensors span; nothing if the real library does not say.
    [[nodiscard]] std::optional<LegacyBytes> tensor_bytes() const;
    [[nodiscard]] std::optional<abi::Stream> stream() const;

  private:
    // Operands and result in the order that the functions of this direction take them.
    struct Ordered {
        const void* a;
        const void* b;
        const void* c;
    };
    [[nodiscard]] Ordered ordered(const void* x, const void* w, const void* y) const;

    const RealCudnn& m_real;
    abi::Handle m_handle;
    LegacyDescriptors m_descriptors;
    const LegacyKey& m_key;
    std::array<abi::ConvolutionDescriptor, abi::k_math_type_count> m_copies{};
};

}  // namespace cudnn_tune::cudnn
