// SPDX-License-Identifier: Apache-2.0
// Whether a graph configuration computes what a program of the legacy API asked for: its descriptors say which rounding
// they allow, and the engine's numerical notes say how it rounds.
#pragma once

#include <cstdint>

#include "abi/cudnn.hpp"
#include "key/candidate.hpp"
#include "key/problem.hpp"

namespace cudnn_tune::select {

struct NumericsRules {
    abi::MathType math_type = abi::k_default_math;  // of the program's convolution descriptor
    int compute_major = 0;                          // of the GPU's compute capability
    bool tf32_forbidden = false;                    // NVIDIA_TF32_OVERRIDE=0
};

// True if configurations may stand in for a legacy algorithm of this problem at all: a cross-correlation of
// floating-point tensors that are not vectorised. What else the legacy API can do (int8 with its own rules of scaling
// and saturation, flipped filters, packed channels) is left to it.
[[nodiscard]] bool has_plain_numerics(const key::Problem&);

// True if the descriptors allow what the configuration does:
//   - FMA allows no tensor cores. DEFAULT allows them from compute capability 8.0 on (cuDNN developer guide,
//     cudnnMathType_t); for fp32 they then round the inputs to TF32, which NVIDIA_TF32_OVERRIDE=0 forbids.
//   - Only ALLOW_CONVERSION allows inputs to be converted down.
//   - None allows sums of less precision than the compute type.
//   - Winograd is left out: its error on large filters was 10 times that of TF32 (seen on an H200), and tensor cores
//     are faster. The legacy API's own Winograd algorithms stay in the race.
[[nodiscard]] bool numerics_allowed(const key::Problem&, const key::Candidate& configuration, const NumericsRules&);

// The notes that say that the configuration rounds the inputs of this problem to a smaller type; 0: it does not.
[[nodiscard]] std::uint32_t input_rounding(const key::Problem&, const key::Candidate& configuration);

// True if the legacy algorithm itself may round as coarsely as the configuration does. TF32 is used by the algorithms
// that have a tensor-core variant (forward 1 and 7, backward 1 and 5); all others compute fp32 exactly under every
// math type (seen on 9.19), and a program that picks one of those by its number may rely on that.
[[nodiscard]] bool rounds_alike(const key::Problem&, const key::Candidate& configuration, int algorithm);

// Whether it does is not the same for every shape, and only its output tells: true if a configuration is no coarser
// than the algorithm whose place it would take. Both errors are norms of the difference from what was computed without
// rounding the inputs, over the norm of that.
[[nodiscard]] bool is_as_exact(double configuration_error, double algorithm_error);

}  // namespace cudnn_tune::select
