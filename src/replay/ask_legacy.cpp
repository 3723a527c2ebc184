// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <array>
#include <climits>
#include <optional>
#include <utility>
#include <vector>

#include "replay/ask.hpp"

namespace cudnn_tune::replay {
namespace {

using CreateFn = abi::Status (*)(void**);
using DestroyFn = abi::Status (*)(void*);
using SetTensorNdFn = abi::Status (*)(void*, abi::DataType, int, const int*, const int*);
using SetFilterNdFn = abi::Status (*)(void*, abi::DataType, abi::TensorFormat, int, const int*);

struct DescriptorCalls {
    CreateFn create_tensor = nullptr;
    CreateFn create_filter = nullptr;
    DestroyFn destroy_tensor = nullptr;
    DestroyFn destroy_filter = nullptr;
    SetTensorNdFn set_tensor = nullptr;
    SetFilterNdFn set_filter = nullptr;

    static std::optional<DescriptorCalls> of(void* library) {
        DescriptorCalls calls;
        return find_symbol(dlsym, library, "cudnnCreateTensorDescriptor", calls.create_tensor) &&
                       find_symbol(dlsym, library, "cudnnCreateFilterDescriptor", calls.create_filter) &&
                       find_symbol(dlsym, library, "cudnnDestroyTensorDescriptor", calls.destroy_tensor) &&
                       find_symbol(dlsym, library, "cudnnDestroyFilterDescriptor", calls.destroy_filter) &&
                       find_symbol(dlsym, library, "cudnnSetTensorNdDescriptor", calls.set_tensor) &&
                       find_symbol(dlsym, library, "cudnnSetFilterNdDescriptor", calls.set_filter)
                   ? std::optional(calls)
                   : std::nullopt;
    }
};

// A descriptor of the legacy API, destroyed with its owner. Null if the library refuses.
class Descriptor {
  public:
    Descriptor(CreateFn create, DestroyFn destroy) : m_destroy(destroy) {
        if (create(&m_descriptor) != abi::k_success) {
            m_descriptor = nullptr;
        }
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (m_descriptor != nullptr) {
            m_destroy(m_descriptor);
        }
    }
    [[nodiscard]] void* get() const { return m_descriptor; }

  private:
    DestroyFn m_destroy;
    void* m_descriptor = nullptr;
};

// The legacy API counts in int.
template <std::size_t N>
std::optional<std::vector<int>> narrow(const std::array<std::int64_t, N>& values, int count) {
    std::vector<int> narrowed;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        if (values[i] > INT_MAX || values[i] < INT_MIN) {
            return std::nullopt;
        }
        narrowed.push_back(static_cast<int>(values[i]));
    }
    return narrowed;
}

// A filter descriptor has a format instead of strides.
abi::TensorFormat format_of(const key::Tensor& filter) {
    if (filter.vector_dim >= 0) {
        return abi::k_nchw_vect_c;
    }
    std::int64_t packed = 1;
    for (auto dim = static_cast<std::size_t>(filter.nb_dims); dim-- > 0;) {
        if (filter.strides[dim] != packed) {
            return abi::k_nhwc;
        }
        packed *= filter.dims[dim];
    }
    return abi::k_nchw;
}

abi::Status set_tensor(const DescriptorCalls& calls, void* descriptor, const key::Tensor& tensor) {
    const auto dims = narrow(tensor.dims, tensor.nb_dims);
    const auto strides = narrow(tensor.strides, tensor.nb_dims);
    return dims && strides ? calls.set_tensor(descriptor, tensor.dtype, tensor.nb_dims, dims->data(), strides->data())
                           : abi::k_v9_bad_param;
}

abi::Status set_filter(const DescriptorCalls& calls, void* descriptor, const key::Tensor& filter) {
    const auto dims = narrow(filter.dims, filter.nb_dims);
    return dims ? calls.set_filter(descriptor, filter.dtype, format_of(filter), filter.nb_dims, dims->data())
                : abi::k_v9_bad_param;
}

abi::Status set_convolution(const cudnn::RealCudnn& cudnn, void* descriptor, const key::Convolution& convolution,
                            const key::LegacyPart& part) {
    const auto pads = narrow(convolution.pre_pads, convolution.nb_spatial);
    const auto strides = narrow(convolution.strides, convolution.nb_spatial);
    const auto dilations = narrow(convolution.dilations, convolution.nb_spatial);
    if (!pads || !strides || !dilations || convolution.pre_pads != convolution.post_pads) {
        return abi::k_v9_bad_param;
    }
    abi::Status status = cudnn.set_convolution(descriptor, convolution.nb_spatial, pads->data(), strides->data(),
                                               dilations->data(), convolution.mode, convolution.compute_type);
    if (status == abi::k_success) {
        status = cudnn.set_group_count(descriptor, static_cast<int>(convolution.groups));
    }
    if (status == abi::k_success) {
        status = cudnn.set_math_type(descriptor, part.math_type);
    }
    if (status == abi::k_success && cudnn.set_reorder_type != nullptr) {
        status = cudnn.set_reorder_type(descriptor, part.reorder_type);
    }
    return status;
}

}  // namespace

Status ask_legacy(const Gpu& gpu, const key::Problem& problem, const key::LegacyPart& part) {
    const auto calls = DescriptorCalls::of(gpu.library);
    if (!gpu.cudnn.legacy_complete || !calls) {
        return Error{ErrorCategory::gpu, "this cuDNN has no complete legacy API"};
    }
    const Descriptor x(calls->create_tensor, calls->destroy_tensor);
    const Descriptor w(calls->create_filter, calls->destroy_filter);
    const Descriptor y(calls->create_tensor, calls->destroy_tensor);
    const Descriptor convolution(gpu.cudnn.create_convolution, gpu.cudnn.destroy_convolution);
    for (const abi::Status status : {set_tensor(*calls, x.get(), problem.x()), set_filter(*calls, w.get(), problem.w()),
                                     set_tensor(*calls, y.get(), problem.y()),
                                     set_convolution(gpu.cudnn, convolution.get(), problem.convolution, part)}) {
        if (status != abi::k_success) {
            return Error{ErrorCategory::gpu, "the library refuses a descriptor with status " + std::to_string(status)};
        }
    }
    // Forward takes x, w, y; backward data w, dy, dx; backward filter x, dy, dw.
    using Arguments = std::array<const void*, 3>;
    const Arguments arguments =
        problem.direction == key::Direction::backward_data     ? Arguments{w.get(), y.get(), x.get()}
        : problem.direction == key::Direction::backward_filter ? Arguments{x.get(), y.get(), w.get()}
                                                               : Arguments{x.get(), w.get(), y.get()};
    constexpr int most_results = 32;  // more than any version has algorithms times math types
    std::array<abi::AlgoPerf, most_results> results{};
    int returned = 0;
    const abi::GetAlgorithmV7Fn ask = gpu.cudnn.get_algorithm_v7[static_cast<std::size_t>(problem.direction)];
    const abi::Status status = ask(gpu.handle, arguments[0], arguments[1], convolution.get(), arguments[2],
                                   most_results, &returned, results.data());
    if (status != abi::k_success || returned == 0) {
        return Error{ErrorCategory::gpu, "cuDNN has no algorithm for it (status " + std::to_string(status) + ")"};
    }
    return ok_status();
}

}  // namespace cudnn_tune::replay
