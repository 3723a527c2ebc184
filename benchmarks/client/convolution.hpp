// SPDX-License-Identifier: Apache-2.0
// One convolution as a program of cuDNN's legacy API has it: descriptors, the question for an algorithm, the call.
// Failures throw std::runtime_error with cuDNN's own words.
#pragma once

#include <cstddef>
#include <string>

#include "cli/shapes_file.hpp"
#include "client/gpu.hpp"
#include "cudnn/functions.hpp"

namespace cudnn_tune::benchmarks {

using cli::Operation;
using cli::Shape;

enum class Api : std::uint8_t { get, find, find_ex };

struct Question {
    Api api = Api::get;
    std::size_t workspace_limit_bytes = 0;
};

class Convolution {
  public:
    // `math_type` -1: default for single and double precision, tensor cores for the smaller types, as PyTorch has it.
    Convolution(abi::Handle handle, const Shape& shape, int math_type);
    ~Convolution();
    Convolution(const Convolution&) = delete;
    Convolution& operator=(const Convolution&) = delete;

    // Allocates and fills the tensors; needed before find_ex questions and before run(). With `all_digits` the values
    // use their type's whole precision, so that rounding shows; else they are multiples of 1/8, with which it does not.
    void allocate(bool all_digits = false);
    // The library's answer: the first usable algorithm within the workspace limit.
    [[nodiscard]] abi::AlgoPerf ask(const Question&);
    // Takes the algorithm, the math type and the workspace of an answer, for all runs from now on.
    void adopt(const abi::AlgoPerf&);
    // At least so much: algorithms adopted in turn then run in the same memory.
    void reserve_workspace(std::size_t bytes);
    // The program's own, as before any algorithm was looked up or adopted: questions are asked with it.
    void restore_math_type();
    // What adopt() needs of an algorithm that was chosen elsewhere: the workspace that the library asks for it now.
    [[nodiscard]] abi::AlgoPerf look_up(int algorithm, int math_type);
    // For all calls from now on.
    void use(abi::Handle handle) { m_handle = handle; }
    void run(double alpha = 1);
    // The largest error among some elements of the result, against double precision (reference.hpp).
    [[nodiscard]] double largest_error(int samples) const;
    [[nodiscard]] const DeviceBuffer& output() const { return *m_output; }
    [[nodiscard]] abi::DataType data_type() const { return m_data_type; }
    [[nodiscard]] Operation operation() const { return m_operation; }
    [[nodiscard]] int math_type() const { return m_math_type; }

  private:
    // The caller's view of the three tensors: first and second operand and result.
    struct Roles {
        const void* a;
        const void* b;
        const void* c;
    };
    [[nodiscard]] Roles roles(const void* x, const void* w, const void* y) const;

    abi::Handle m_handle;
    Shape m_shape;
    bool m_all_digits = false;
    Operation m_operation;
    abi::DataType m_data_type = 0;
    abi::TensorDescriptor m_x = nullptr;
    abi::FilterDescriptor m_w = nullptr;
    abi::TensorDescriptor m_y = nullptr;
    abi::ConvolutionDescriptor m_convolution = nullptr;
    DeviceBuffer m_x_buffer;
    DeviceBuffer m_w_buffer;
    DeviceBuffer m_y_buffer;
    DeviceBuffer m_search_workspace;
    DeviceBuffer m_workspace;
    DeviceBuffer* m_output = nullptr;
    int m_math_type;
    int m_algorithm = 0;
    std::size_t m_workspace_bytes = 0;
};

// An element of one of this client's types.
[[nodiscard]] double element_value(const std::byte* at, abi::DataType type);

void check_cudnn(abi::Status, const char* what);

}  // namespace cudnn_tune::benchmarks
