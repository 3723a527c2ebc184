// SPDX-License-Identifier: Apache-2.0
// The part of cuDNN's binary interface that this project uses, for cuDNN 7 to 9: integer types, constants, layouts and
// prototypes, written by hand so that no vendor package is needed to build. check_cudnn.cpp compares every line with
// the vendor's headers where those are installed.
// Enumerations are plain `int` here: the vendor's C enumerations have that size and are passed the same way.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cudnn_tune::abi {

using Status = int;
inline constexpr Status k_success = 0;
// cuDNN 9 numbers statuses by category (thousands); cuDNN <= 8 counts them from 0.
inline constexpr Status k_v9_bad_param = 2000;
inline constexpr Status k_v9_not_supported = 3000;
inline constexpr Status k_v9_alloc_failed = 4003;
inline constexpr Status k_v9_execution_failed = 5000;
inline constexpr Status k_v8_alloc_failed = 2;
inline constexpr Status k_v8_bad_param = 3;
inline constexpr Status k_v8_execution_failed = 8;
inline constexpr Status k_v8_not_supported = 9;

// CUDNN_DIM_MAX: the most dimensions a tensor may have.
inline constexpr int k_max_dims = 8;
// cudnnGetConvolutionNdDescriptor accepts at most this many spatial dimensions (seen on 9.19).
inline constexpr int k_max_spatial_dims = 6;

// Opaque pointers of the vendor's structures.
using Handle = void*;
using TensorDescriptor = void*;
using FilterDescriptor = void*;
using ConvolutionDescriptor = void*;
using BackendDescriptor = void*;
using Stream = void*;

using DataType = int;
inline constexpr DataType k_float = 0;
inline constexpr DataType k_double = 1;
inline constexpr DataType k_half = 2;
inline constexpr DataType k_int8 = 3;
inline constexpr DataType k_int32 = 4;
inline constexpr DataType k_int8x4 = 5;
inline constexpr DataType k_uint8 = 6;
inline constexpr DataType k_uint8x4 = 7;
inline constexpr DataType k_int8x32 = 8;
inline constexpr DataType k_bfloat16 = 9;
inline constexpr DataType k_int64 = 10;
inline constexpr DataType k_boolean = 11;
inline constexpr DataType k_fp8_e4m3 = 12;
inline constexpr DataType k_fp8_e5m2 = 13;
inline constexpr DataType k_fast_float_for_fp8 = 14;
inline constexpr DataType k_fp8_e8m0 = 15;
inline constexpr DataType k_fp4_e2m1 = 16;
inline constexpr DataType k_int4 = 17;
inline constexpr DataType k_uint4 = 18;
inline constexpr DataType k_uint32 = 19;
inline constexpr DataType k_complex_fp32 = 20;
inline constexpr DataType k_complex_fp64 = 21;
inline constexpr int k_data_type_count = 22;

using TensorFormat = int;
inline constexpr TensorFormat k_nchw = 0;
inline constexpr TensorFormat k_nhwc = 1;
inline constexpr TensorFormat k_nchw_vect_c = 2;

using MathType = int;
inline constexpr MathType k_default_math = 0;
inline constexpr MathType k_tensor_op_math = 1;
inline constexpr MathType k_tensor_op_math_allow_conversion = 2;
inline constexpr MathType k_fma_math = 3;
inline constexpr int k_math_type_count = 4;

using ReorderType = int;
inline constexpr ReorderType k_default_reorder = 0;
inline constexpr ReorderType k_no_reorder = 1;

using ConvolutionMode = int;
inline constexpr ConvolutionMode k_convolution = 0;
inline constexpr ConvolutionMode k_cross_correlation = 1;

using Determinism = int;
inline constexpr Determinism k_non_deterministic = 0;
inline constexpr Determinism k_deterministic = 1;

// Algorithms are numbered from 0 in each direction.
inline constexpr int k_forward_algorithm_count = 8;
inline constexpr int k_backward_data_algorithm_count = 6;
inline constexpr int k_backward_filter_algorithm_count = 7;

// cuDNN <= 7: what cudnnGetConvolution*Algorithm may use (cudnnConvolutionFwdPreference_t and its two siblings).
using AlgorithmPreference = int;
inline constexpr AlgorithmPreference k_no_workspace = 0;
inline constexpr AlgorithmPreference k_prefer_fastest = 1;
inline constexpr AlgorithmPreference k_specify_workspace_limit = 2;

// cudnnConvolution{Fwd,BwdData,BwdFilter}AlgoPerf_t: one layout for the three directions, unchanged from 7 to 9.
// `time` is in milliseconds and -1 where nothing was measured; `memory` is the workspace in bytes.
struct AlgoPerf {
    int algo;
    Status status;
    float time;
    std::size_t memory;
    Determinism determinism;
    MathType math_type;
    int reserved[3];
};

// cudnnActivationMode_t: the two that cudnnConvolutionBiasActivationForward accepts.
inline constexpr int k_activation_relu = 1;
inline constexpr int k_activation_identity = 5;

// Functions that are called (not hooked) on a real library.
using GetActivationDescriptorFn = Status (*)(void* activation, int* mode, int* nan_propagation, double* coefficient);
using GetVersionFn = std::size_t (*)();
using GetLastErrorStringFn = void (*)(char* text, std::size_t size_bytes);
using CreateHandleFn = Status (*)(Handle*);
using HandleFn = Status (*)(Handle);
using GetStreamFn = Status (*)(Handle, Stream*);
using SetStreamFn = Status (*)(Handle, Stream);
using GetTensorSizeFn = Status (*)(TensorDescriptor, std::size_t* bytes);
using GetTensorNdDescriptorFn = Status (*)(TensorDescriptor, int requested, DataType*, int* nb_dims, int* dims,
                                           int* strides);
using GetFilterNdDescriptorFn = Status (*)(FilterDescriptor, int requested, DataType*, TensorFormat*, int* nb_dims,
                                           int* dims);
using GetConvolutionNdDescriptorFn = Status (*)(ConvolutionDescriptor, int requested, int* nb_spatial, int* pads,
                                                int* strides, int* dilations, ConvolutionMode*, DataType* compute);
using GetConvolutionIntFn = Status (*)(ConvolutionDescriptor, int*);  // math type, group count, reorder type
using SetConvolutionIntFn = Status (*)(ConvolutionDescriptor, int);
using CreateConvolutionDescriptorFn = Status (*)(ConvolutionDescriptor*);
using DestroyConvolutionDescriptorFn = Status (*)(ConvolutionDescriptor);
using SetConvolutionNdDescriptorFn = Status (*)(ConvolutionDescriptor, int nb_spatial, const int* pads,
                                                const int* strides, const int* dilations, ConvolutionMode,
                                                DataType compute);
// The same three argument lists for every direction: (first operand, second operand, convolution, result), where the
// operands are x,w (forward), w,dy (backward data), x,dy (backward filter).
using GetWorkspaceSizeFn = Status (*)(Handle, const void*, const void*, const void*, const void*, int algo,
                                      std::size_t*);
using ConvolutionFn = Status (*)(Handle, const void* alpha, const void* a_desc, const void* a, const void* b_desc,
                                 const void* b, const void* conv, int algo, void* workspace,
                                 std::size_t workspace_bytes, const void* beta, const void* c_desc, void* c);

// Functions that are hooked (and, the convolutions, called as well).
using ConvolutionBiasActivationFn = Status (*)(Handle, const void* alpha1, const void* x_desc, const void* x,
                                               const void* w_desc, const void* w, const void* conv, int algo,
                                               void* workspace, std::size_t workspace_bytes, const void* alpha2,
                                               const void* z_desc, const void* z, const void* bias_desc,
                                               const void* bias, const void* activation, const void* y_desc, void* y);
using GetAlgorithmV7Fn = Status (*)(Handle, const void*, const void*, const void*, const void*, int requested,
                                    int* returned, AlgoPerf*);
using FindAlgorithmFn = GetAlgorithmV7Fn;
using FindAlgorithmExFn = Status (*)(Handle, const void* a_desc, const void* a, const void* b_desc, const void* b,
                                     const void* conv, const void* c_desc, void* c, int requested, int* returned,
                                     AlgoPerf*, void* workspace, std::size_t workspace_bytes);
using GetAlgorithmFn = Status (*)(Handle, const void*, const void*, const void*, const void*, AlgorithmPreference,
                                  std::size_t memory_limit_bytes, int* algo);
using BackendCreateDescriptorFn = Status (*)(int type, BackendDescriptor*);
using BackendDescriptorFn = Status (*)(BackendDescriptor);  // Initialize, Finalize, DestroyDescriptor
using BackendSetAttributeFn = Status (*)(BackendDescriptor, int name, int type, std::int64_t count, const void*);
using BackendGetAttributeFn = Status (*)(BackendDescriptor, int name, int type, std::int64_t requested,
                                         std::int64_t* count, void*);
using BackendExecuteFn = Status (*)(Handle, BackendDescriptor plan, BackendDescriptor pack);

}  // namespace cudnn_tune::abi
