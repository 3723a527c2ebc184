// SPDX-License-Identifier: Apache-2.0
#include "client/convolution.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "client/reference.hpp"

namespace cudnn_tune::benchmarks {
namespace {

// More than any version has algorithms times math types.
constexpr int k_most_results = 32;
// Inputs repeat after so many elements: a prime, so that no dimension falls into step with it.
constexpr std::size_t k_pattern_elements = 1'048'573;

abi::DataType data_type_of(const std::string& name) {
    if (name == "fp32") {
        return abi::k_float;
    }
    if (name == "fp16") {
        return abi::k_half;
    }
    if (name == "bf16") {
        return abi::k_bfloat16;
    }
    if (name == "fp64") {
        return abi::k_double;
    }
    throw std::runtime_error("data type " + name + " is not supported by this client");
}

std::uint16_t half_bits(float value, abi::DataType type) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if (type == abi::k_bfloat16) {
        return static_cast<std::uint16_t>(bits >> 16);
    }
    // Exact for the values of input_pattern(): multiples of 1/8 from -1 to 1.
    if (value == 0) {
        return 0;
    }
    const std::uint32_t exponent = (bits >> 23 & 0xff) - 127 + 15;
    return static_cast<std::uint16_t>((bits >> 16 & 0x8000) | exponent << 10 | (bits >> 13 & 0x3ff));
}

// To nearest, as cuDNN rounds; the values are in (-1, 1).
std::uint16_t rounded_bits(float value, abi::DataType type) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if (type == abi::k_bfloat16) {
        return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
    if (value == 0) {
        return 0;
    }
    const float magnitude = std::abs(value);
    int exponent = 0;
    static_cast<void>(std::frexp(magnitude, &exponent));
    exponent = std::max(exponent, -13);  // from 2^-14 down numbers are subnormal
    const auto steps = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(magnitude, 11 - exponent)));
    // A mantissa that rounds up to the next power of two carries into the exponent.
    return static_cast<std::uint16_t>((bits >> 16 & 0x8000) + (static_cast<std::uint32_t>(exponent + 13) << 10) +
                                      steps);
}

std::vector<std::byte> input_pattern(abi::DataType type, std::uint32_t seed, bool all_digits) {
    const std::size_t element_bytes = type == abi::k_double ? 8 : type == abi::k_float ? 4 : 2;
    std::vector<std::byte> bytes(k_pattern_elements * element_bytes);
    std::uint32_t state = seed;
    for (std::size_t i = 0; i < k_pattern_elements; ++i) {
        state = state * 1664525 + 1013904223;  // Numerical Recipes' generator
        const float value = all_digits ? static_cast<float>(static_cast<int>(state >> 7) - (1 << 24)) * 0x1p-24F
                                       : static_cast<float>(static_cast<int>((state >> 16) % 17) - 8) / 8;
        std::byte* const to = bytes.data() + i * element_bytes;
        if (type == abi::k_double) {
            const double wide = value;
            std::memcpy(to, &wide, 8);
        } else if (type == abi::k_float) {
            std::memcpy(to, &value, 4);
        } else {
            const std::uint16_t narrow = all_digits ? rounded_bits(value, type) : half_bits(value, type);
            std::memcpy(to, &narrow, 2);
        }
    }
    return bytes;
}

}  // namespace

double element_value(const std::byte* at, abi::DataType type) {
    if (type == abi::k_double) {
        double value = 0;
        std::memcpy(&value, at, sizeof value);
        return value;
    }
    if (type == abi::k_float) {
        float value = 0;
        std::memcpy(&value, at, sizeof value);
        return value;
    }
    std::uint16_t bits = 0;
    std::memcpy(&bits, at, sizeof bits);
    if (type == abi::k_bfloat16) {
        const std::uint32_t wide = std::uint32_t{bits} << 16;
        float value = 0;
        std::memcpy(&value, &wide, sizeof value);
        return value;
    }
    const int exponent = bits >> 10 & 0x1f;
    const int mantissa = bits & 0x3ff;
    const double magnitude = exponent == 0    ? std::ldexp(mantissa, -24)
                             : exponent == 31 ? (mantissa == 0 ? HUGE_VAL : std::nan(""))
                                              : std::ldexp(mantissa + 1024, exponent - 25);
    return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

void check_cudnn(abi::Status status, const char* what) {
    if (status != abi::k_success) {
        throw std::runtime_error(std::string(what) + ": " + cudnnGetErrorString(status));
    }
}

Convolution::Convolution(abi::Handle handle, const Shape& shape, int math_type)
    : m_handle(handle),
      m_shape(shape),
      m_operation(shape.operation),
      m_data_type(data_type_of(shape.dtype)),
      m_math_type(math_type) {
    const abi::TensorFormat format = shape.is_channels_last ? abi::k_nhwc : abi::k_nchw;
    const int nb_dims = static_cast<int>(shape.x.size());
    const abi::DataType compute = m_data_type == abi::k_double ? abi::k_double : abi::k_float;
    const bool is_wide = m_data_type == abi::k_double || m_data_type == abi::k_float;
    if (m_math_type < 0) {
        m_math_type = is_wide ? abi::k_default_math : abi::k_tensor_op_math;
    }
    check_cudnn(cudnnCreateTensorDescriptor(&m_x), "cudnnCreateTensorDescriptor");
    check_cudnn(cudnnCreateTensorDescriptor(&m_y), "cudnnCreateTensorDescriptor");
    check_cudnn(cudnnCreateFilterDescriptor(&m_w), "cudnnCreateFilterDescriptor");
    check_cudnn(cudnnCreateConvolutionDescriptor(&m_convolution), "cudnnCreateConvolutionDescriptor");
    check_cudnn(cudnnSetTensorNdDescriptorEx(m_x, format, m_data_type, nb_dims, shape.x.data()), "x");
    check_cudnn(cudnnSetTensorNdDescriptorEx(m_y, format, m_data_type, nb_dims, shape.y.data()), "y");
    check_cudnn(cudnnSetFilterNdDescriptor(m_w, m_data_type, format, nb_dims, shape.w.data()), "w");
    check_cudnn(cudnnSetConvolutionNdDescriptor(m_convolution, nb_dims - 2, shape.pads.data(), shape.strides.data(),
                                                shape.dilations.data(), abi::k_cross_correlation, compute),
                "cudnnSetConvolutionNdDescriptor");
    check_cudnn(cudnnSetConvolutionGroupCount(m_convolution, shape.groups), "cudnnSetConvolutionGroupCount");
    restore_math_type();
    m_output = m_operation == Operation::forward         ? &m_y_buffer
               : m_operation == Operation::backward_data ? &m_x_buffer
                                                         : &m_w_buffer;
}

Convolution::~Convolution() {
    static_cast<void>(cudnnDestroyConvolutionDescriptor(m_convolution));
    static_cast<void>(cudnnDestroyFilterDescriptor(m_w));
    static_cast<void>(cudnnDestroyTensorDescriptor(m_y));
    static_cast<void>(cudnnDestroyTensorDescriptor(m_x));
}

Convolution::Roles Convolution::roles(const void* x, const void* w, const void* y) const {
    switch (m_operation) {
        case Operation::backward_data:
            return {w, y, x};
        case Operation::backward_filter:
            return {x, y, w};
        case Operation::forward:
            break;
    }
    return {x, w, y};
}

void Convolution::allocate(bool all_digits) {
    m_all_digits = all_digits;
    std::size_t bytes = 0;
    check_cudnn(cudnnGetTensorSizeInBytes(m_x, &bytes), "cudnnGetTensorSizeInBytes");
    m_x_buffer = DeviceBuffer(bytes);
    check_cudnn(cudnnGetTensorSizeInBytes(m_y, &bytes), "cudnnGetTensorSizeInBytes");
    m_y_buffer = DeviceBuffer(bytes);
    check_cudnn(cudnnGetFilterSizeInBytes(m_w, &bytes), "cudnnGetFilterSizeInBytes");
    m_w_buffer = DeviceBuffer(bytes);
    std::uint32_t seed = 1;
    for (DeviceBuffer* const buffer : {&m_x_buffer, &m_w_buffer, &m_y_buffer}) {
        buffer->fill(input_pattern(m_data_type, seed++, all_digits));
    }
}

abi::AlgoPerf Convolution::ask(const Question& question) {
    std::array<abi::AlgoPerf, k_most_results> results{};
    int nb_results = 0;
    const auto direction = static_cast<std::size_t>(m_operation);
    const Roles of = roles(m_x, m_w, m_y);
    abi::Status status = abi::k_success;
    if (question.api == Api::find_ex) {
        if (m_search_workspace.size_bytes() < question.workspace_limit_bytes) {
            m_search_workspace = DeviceBuffer(question.workspace_limit_bytes);
        }
        const Roles at = roles(m_x_buffer.data(), m_w_buffer.data(), m_y_buffer.data());
        constexpr std::array<abi::FindAlgorithmExFn, 3> functions = {cudnnFindConvolutionForwardAlgorithmEx,
                                                                     cudnnFindConvolutionBackwardDataAlgorithmEx,
                                                                     cudnnFindConvolutionBackwardFilterAlgorithmEx};
        status = functions[direction](m_handle, of.a, at.a, of.b, at.b, m_convolution, of.c, const_cast<void*>(at.c),
                                      k_most_results, &nb_results, results.data(), m_search_workspace.data(),
                                      question.workspace_limit_bytes);
    } else {
        constexpr std::array<std::array<abi::GetAlgorithmV7Fn, 3>, 2> functions = {
            {{cudnnGetConvolutionForwardAlgorithm_v7, cudnnGetConvolutionBackwardDataAlgorithm_v7,
              cudnnGetConvolutionBackwardFilterAlgorithm_v7},
             {cudnnFindConvolutionForwardAlgorithm, cudnnFindConvolutionBackwardDataAlgorithm,
              cudnnFindConvolutionBackwardFilterAlgorithm}}};
        status = functions[question.api == Api::find ? 1 : 0][direction](m_handle, of.a, of.b, m_convolution, of.c,
                                                                         k_most_results, &nb_results, results.data());
    }
    check_cudnn(status, "the question for an algorithm");
    for (int i = 0; i < nb_results; ++i) {
        const abi::AlgoPerf& result = results[static_cast<std::size_t>(i)];
        if (result.status == abi::k_success && result.memory <= question.workspace_limit_bytes) {
            return result;
        }
    }
    throw std::runtime_error("no algorithm within the workspace limit");
}

void Convolution::adopt(const abi::AlgoPerf& answer) {
    check_cudnn(cudnnSetConvolutionMathType(m_convolution, answer.math_type), "cudnnSetConvolutionMathType");
    m_search_workspace = DeviceBuffer();
    reserve_workspace(answer.memory);
    m_workspace_bytes = answer.memory;
    m_algorithm = answer.algo;
}

void Convolution::reserve_workspace(std::size_t bytes) {
    if (m_workspace.size_bytes() < bytes) {
        m_workspace = DeviceBuffer();
        m_workspace = DeviceBuffer(bytes);
    }
}

void Convolution::restore_math_type() {
    check_cudnn(cudnnSetConvolutionMathType(m_convolution, m_math_type), "cudnnSetConvolutionMathType");
}

abi::AlgoPerf Convolution::look_up(int algorithm, int math_type) {
    constexpr std::array<abi::GetWorkspaceSizeFn, 3> functions = {cudnnGetConvolutionForwardWorkspaceSize,
                                                                  cudnnGetConvolutionBackwardDataWorkspaceSize,
                                                                  cudnnGetConvolutionBackwardFilterWorkspaceSize};
    abi::AlgoPerf answer{};
    answer.algo = algorithm;
    answer.math_type = math_type;
    check_cudnn(cudnnSetConvolutionMathType(m_convolution, math_type), "cudnnSetConvolutionMathType");
    const Roles of = roles(m_x, m_w, m_y);
    check_cudnn(functions[static_cast<std::size_t>(m_operation)](m_handle, of.a, of.b, m_convolution, of.c, algorithm,
                                                                 &answer.memory),
                "the workspace query");
    return answer;
}

double Convolution::largest_error(int samples) const {
    const std::size_t element_bytes = m_data_type == abi::k_double ? 8 : m_data_type == abi::k_float ? 4 : 2;
    // The inputs are repeated patterns, which need not be read back.
    const auto input = [&](std::uint32_t seed) -> Elements {
        return [pattern = input_pattern(m_data_type, seed, m_all_digits), element_bytes, this](std::int64_t position) {
            const auto at = static_cast<std::size_t>(position) % k_pattern_elements;
            return element_value(pattern.data() + at * element_bytes, m_data_type);
        };
    };
    const Elements output = [&](std::int64_t position) {
        const auto bytes = m_output->read_at(static_cast<std::size_t>(position) * element_bytes, element_bytes);
        return element_value(bytes.data(), m_data_type);
    };
    return benchmarks::largest_error(m_shape, {input(1), input(2), input(3)}, output, samples);
}

void Convolution::run(double alpha) {
    const double zero = 0;
    const auto alpha_float = static_cast<float>(alpha);
    const float zero_float = 0;
    const bool is_double = m_data_type == abi::k_double;
    const Roles of = roles(m_x, m_w, m_y);
    const Roles at = roles(m_x_buffer.data(), m_w_buffer.data(), m_y_buffer.data());
    constexpr std::array<abi::ConvolutionFn, 3> functions = {cudnnConvolutionForward, cudnnConvolutionBackwardData,
                                                             cudnnConvolutionBackwardFilter};
    const void* const alpha_of_type = is_double ? static_cast<const void*>(&alpha) : &alpha_float;
    const void* const beta = is_double ? static_cast<const void*>(&zero) : &zero_float;
    void* const workspace = m_workspace_bytes > 0 ? m_workspace.data() : nullptr;
    check_cudnn(functions[static_cast<std::size_t>(m_operation)](
                    m_handle, alpha_of_type, of.a, at.a, of.b, at.b, m_convolution, m_algorithm, workspace,
                    m_workspace_bytes, beta, of.c, const_cast<void*>(at.c)),
                "the convolution");
}

}  // namespace cudnn_tune::benchmarks
