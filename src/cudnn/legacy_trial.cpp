// SPDX-License-Identifier: Apache-2.0
#include "cudnn/legacy_trial.hpp"

#include <algorithm>

namespace cudnn_tune::cudnn {
namespace {

constexpr std::array<int, 3> k_algorithm_counts = {abi::k_forward_algorithm_count, abi::k_backward_data_algorithm_count,
                                                   abi::k_backward_filter_algorithm_count};

// Room for every algorithm under every math type, and for algorithms of later versions.
constexpr int k_max_results = 64;

// cuDNN's documentation of the algorithm enumerations: these accumulate with atomics.
int determinism_of(key::Direction direction, int algorithm) {
    const bool varies = (direction == key::Direction::backward_data && algorithm == 0) ||
                        (direction == key::Direction::backward_filter && (algorithm == 0 || algorithm == 3));
    return varies ? abi::k_non_deterministic : abi::k_deterministic;
}

}  // namespace

LegacyTrial::~LegacyTrial() {
    for (const abi::ConvolutionDescriptor copy : m_copies) {
        if (copy != nullptr) {
            m_real.destroy_convolution(copy);
        }
    }
}

const void* LegacyTrial::convolution_with(abi::MathType math_type) {
    const LegacyKey::ConvolutionPart& part = m_key.convolution;
    if (math_type == part.math_type) {
        return m_descriptors.convolution;
    }
    if (math_type < 0 || math_type >= abi::k_math_type_count) {
        return nullptr;
    }
    abi::ConvolutionDescriptor& copy = m_copies[static_cast<std::size_t>(math_type)];
    if (copy != nullptr) {
        return copy;
    }
    if (m_real.create_convolution(&copy) != abi::k_success) {
        copy = nullptr;
        return nullptr;
    }
    const bool complete =
        m_real.set_convolution(copy, part.nb_spatial, part.pads.data(), part.strides.data(), part.dilations.data(),
                               part.mode, part.compute_type) == abi::k_success &&
        m_real.set_group_count(copy, part.groups) == abi::k_success &&
        (m_real.set_reorder_type == nullptr || m_real.set_reorder_type(copy, part.reorder_type) == abi::k_success) &&
        m_real.set_math_type(copy, math_type) == abi::k_success;
    if (!complete) {
        m_real.destroy_convolution(copy);
        copy = nullptr;
    }
    return copy;
}

LegacyTrial::Ordered LegacyTrial::ordered(const void* x, const void* w, const void* y) const {
    switch (static_cast<key::Direction>(m_key.direction)) {
        case key::Direction::backward_data:
            return {w, y, x};
        case key::Direction::backward_filter:
            return {x, y, w};
        case key::Direction::forward:
            break;
    }
    return {x, w, y};
}

std::vector<key::Candidate> LegacyTrial::candidates(std::span<const abi::MathType> math_types) {
    const auto direction = static_cast<std::size_t>(m_key.direction);
    const Ordered of = ordered(m_descriptors.x, m_descriptors.w, m_descriptors.y);
    std::array<abi::AlgoPerf, k_max_results> results{};
    int count = 0;
    if (m_real.get_algorithm_v7[direction](m_handle, of.a, of.b, m_descriptors.convolution, of.c, k_max_results, &count,
                                           results.data()) != abi::k_success) {
        return {};
    }
    std::vector<key::Candidate> candidates;
    const auto add = [&candidates](const key::LegacyChoice& choice, abi::Status status, int determinism,
                                   std::int64_t workspace_bytes) {
        key::Candidate candidate;
        candidate.choice = choice;
        candidate.rank = static_cast<int>(candidates.size());
        candidate.status = status;
        candidate.determinism = determinism;
        candidate.workspace_bytes = workspace_bytes;
        candidates.push_back(std::move(candidate));
    };
    for (int i = 0; i < std::min(count, k_max_results); ++i) {
        const abi::AlgoPerf& result = results[static_cast<std::size_t>(i)];
        const key::LegacyChoice choice{result.algo, result.math_type};
        std::int64_t bytes = 0;
        if (result.status == abi::k_success) {
            // The list says 0 of algorithms that refuse to run with less than the query says (seen: algorithm 1 of
            // depthwise problems in fp16, channels last, cuDNN 9.19).
            bytes = std::max(static_cast<std::int64_t>(result.memory), workspace_bytes(choice).value_or(0));
        }
        add(choice, result.status, result.determinism, bytes);
    }
    for (const abi::MathType math_type : math_types) {
        for (int algorithm = 0; algorithm < k_algorithm_counts[direction]; ++algorithm) {
            const key::LegacyChoice choice{algorithm, math_type};
            const bool listed = std::any_of(candidates.begin(), candidates.end(), [&](const key::Candidate& known) {
                return std::get<key::LegacyChoice>(known.choice) == choice;
            });
            if (listed) {
                continue;
            }
            if (const auto bytes = workspace_bytes(choice)) {
                add(choice, abi::k_success, determinism_of(static_cast<key::Direction>(m_key.direction), algorithm),
                    *bytes);
            }
        }
    }
    return candidates;
}

std::optional<std::int64_t> LegacyTrial::workspace_bytes(const key::LegacyChoice& choice) {
    const void* const convolution = convolution_with(choice.math_type);
    if (convolution == nullptr) {
        return std::nullopt;
    }
    const Ordered of = ordered(m_descriptors.x, m_descriptors.w, m_descriptors.y);
    std::size_t bytes = 0;
    if (m_real.workspace_size[static_cast<std::size_t>(m_key.direction)](m_handle, of.a, of.b, convolution, of.c,
                                                                         choice.algorithm, &bytes) != abi::k_success) {
        return std::nullopt;
    }
    return static_cast<std::int64_t>(bytes);
}

std::vector<key::LegacyChoice> LegacyTrial::exact_choices(std::int64_t most_bytes) {
    std::vector<key::LegacyChoice> choices{{0, abi::k_fma_math}, {1, abi::k_fma_math}};
    if (static_cast<key::Direction>(m_key.direction) == key::Direction::backward_filter) {
        choices.push_back({3, abi::k_fma_math});
    }
    std::erase_if(choices, [&](const key::LegacyChoice& choice) {
        const auto bytes = workspace_bytes(choice);
        return !bytes || *bytes > most_bytes;
    });
    return choices;
}

abi::Status LegacyTrial::run(const key::LegacyChoice& choice, const LegacyBuffers& buffers) {
    const void* const convolution = convolution_with(choice.math_type);
    if (convolution == nullptr) {
        return m_real.has_status_categories() ? abi::k_v9_not_supported : abi::k_v8_not_supported;
    }
    const Ordered of = ordered(m_descriptors.x, m_descriptors.w, m_descriptors.y);
    const Ordered at = ordered(buffers.x, buffers.w, buffers.y);
    // alpha and beta are double for double tensors and float for all others (cuDNN developer guide, scaling).
    const bool is_double = m_key.x.dtype == abi::k_double;
    const double double_one = 1;
    const double double_zero = 0;
    const float float_one = 1;
    const float float_zero = 0;
    const void* const one = is_double ? static_cast<const void*>(&double_one) : &float_one;
    const void* const zero = is_double ? static_cast<const void*>(&double_zero) : &float_zero;
    return m_real.convolve[static_cast<std::size_t>(m_key.direction)](
        m_handle, one, of.a, at.a, of.b, at.b, convolution, choice.algorithm, buffers.workspace,
        buffers.workspace_bytes, zero, of.c, const_cast<void*>(at.c));
}

std::optional<LegacyBytes> LegacyTrial::tensor_bytes() const {
    std::size_t x = 0;
    std::size_t y = 0;
    if (m_real.tensor_size(const_cast<void*>(m_descriptors.x), &x) != abi::k_success ||
        m_real.tensor_size(const_cast<void*>(m_descriptors.y), &y) != abi::k_success) {
        return std::nullopt;
    }
    // A filter is always packed; 8 bytes hold an element of any type but int8x32.
    std::int64_t w = m_key.w.dtype == abi::k_int8x32 ? 32 : 8;
    for (int i = 0; i < m_key.w.nb_dims; ++i) {
        w *= m_key.w.dims[static_cast<std::size_t>(i)];
    }
    return LegacyBytes{static_cast<std::int64_t>(x), w, static_cast<std::int64_t>(y)};
}

std::optional<abi::Stream> LegacyTrial::stream() const {
    abi::Stream stream = nullptr;
    return m_real.get_stream(m_handle, &stream) == abi::k_success ? std::optional(stream) : std::nullopt;
}

}  // namespace cudnn_tune::cudnn
