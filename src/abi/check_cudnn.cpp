// SPDX-License-Identifier: Apache-2.0
// Compares cudnn.hpp and backend.hpp with the vendor's headers, where those are installed. Compiled, never run.
#include <cudnn.h>

#include <type_traits>

#include "abi/backend.hpp"
#include "abi/cudnn.hpp"

namespace abi = cudnn_tune::abi;

#define SAME(ours, theirs) static_assert(static_cast<int>(abi::ours) == static_cast<int>(theirs))

SAME(k_success, CUDNN_STATUS_SUCCESS);
SAME(k_v9_bad_param, CUDNN_STATUS_BAD_PARAM);
SAME(k_v9_not_supported, CUDNN_STATUS_NOT_SUPPORTED);
SAME(k_v9_alloc_failed, CUDNN_STATUS_ALLOC_FAILED);
SAME(k_v9_execution_failed, CUDNN_STATUS_EXECUTION_FAILED);
SAME(k_float, CUDNN_DATA_FLOAT);
SAME(k_double, CUDNN_DATA_DOUBLE);
SAME(k_half, CUDNN_DATA_HALF);
SAME(k_int8, CUDNN_DATA_INT8);
SAME(k_int32, CUDNN_DATA_INT32);
SAME(k_int8x4, CUDNN_DATA_INT8x4);
SAME(k_uint8, CUDNN_DATA_UINT8);
SAME(k_uint8x4, CUDNN_DATA_UINT8x4);
SAME(k_int8x32, CUDNN_DATA_INT8x32);
SAME(k_bfloat16, CUDNN_DATA_BFLOAT16);
SAME(k_int64, CUDNN_DATA_INT64);
SAME(k_boolean, CUDNN_DATA_BOOLEAN);
SAME(k_fp8_e4m3, CUDNN_DATA_FP8_E4M3);
SAME(k_fp8_e5m2, CUDNN_DATA_FP8_E5M2);
SAME(k_fast_float_for_fp8, CUDNN_DATA_FAST_FLOAT_FOR_FP8);
SAME(k_nchw, CUDNN_TENSOR_NCHW);
SAME(k_nhwc, CUDNN_TENSOR_NHWC);
SAME(k_nchw_vect_c, CUDNN_TENSOR_NCHW_VECT_C);
SAME(k_default_math, CUDNN_DEFAULT_MATH);
SAME(k_tensor_op_math, CUDNN_TENSOR_OP_MATH);
SAME(k_tensor_op_math_allow_conversion, CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION);
SAME(k_fma_math, CUDNN_FMA_MATH);
SAME(k_default_reorder, CUDNN_DEFAULT_REORDER);
SAME(k_no_reorder, CUDNN_NO_REORDER);
SAME(k_convolution, CUDNN_CONVOLUTION);
SAME(k_cross_correlation, CUDNN_CROSS_CORRELATION);
SAME(k_non_deterministic, CUDNN_NON_DETERMINISTIC);
SAME(k_deterministic, CUDNN_DETERMINISTIC);
SAME(k_forward_algorithm_count, CUDNN_CONVOLUTION_FWD_ALGO_COUNT);
SAME(k_backward_data_algorithm_count, CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT);
SAME(k_backward_filter_algorithm_count, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT);
SAME(k_max_dims, CUDNN_DIM_MAX);
SAME(k_pointwise_descriptor, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
SAME(k_convolution_descriptor, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
SAME(k_engine_descriptor, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
SAME(k_enginecfg_descriptor, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
SAME(k_engineheur_descriptor, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
SAME(k_plan_descriptor, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
SAME(k_knob_choice_descriptor, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
SAME(k_operation_forward_descriptor, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
SAME(k_operation_backward_filter_descriptor, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR);
SAME(k_operation_backward_data_descriptor, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR);
SAME(k_operation_pointwise_descriptor, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
SAME(k_operationgraph_descriptor, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
SAME(k_variant_pack_descriptor, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
SAME(k_tensor_descriptor, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
SAME(k_deviceprop_descriptor, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
SAME(k_type_handle, CUDNN_TYPE_HANDLE);
SAME(k_type_data_type, CUDNN_TYPE_DATA_TYPE);
SAME(k_type_boolean, CUDNN_TYPE_BOOLEAN);
SAME(k_type_int64, CUDNN_TYPE_INT64);
SAME(k_type_float, CUDNN_TYPE_FLOAT);
SAME(k_type_double, CUDNN_TYPE_DOUBLE);
SAME(k_type_void_ptr, CUDNN_TYPE_VOID_PTR);
SAME(k_type_convolution_mode, CUDNN_TYPE_CONVOLUTION_MODE);
SAME(k_type_heur_mode, CUDNN_TYPE_HEUR_MODE);
SAME(k_type_knob_type, CUDNN_TYPE_KNOB_TYPE);
SAME(k_type_nan_propagation, CUDNN_TYPE_NAN_PROPOGATION);
SAME(k_type_numerical_note, CUDNN_TYPE_NUMERICAL_NOTE);
SAME(k_type_pointwise_mode, CUDNN_TYPE_POINTWISE_MODE);
SAME(k_type_backend_descriptor, CUDNN_TYPE_BACKEND_DESCRIPTOR);
SAME(k_type_behavior_note, CUDNN_TYPE_BEHAVIOR_NOTE);
SAME(k_type_tensor_reordering_mode, CUDNN_TYPE_TENSOR_REORDERING_MODE);
SAME(k_type_int32, CUDNN_TYPE_INT32);
SAME(k_type_char, CUDNN_TYPE_CHAR);
SAME(k_pointwise_mode, CUDNN_ATTR_POINTWISE_MODE);
SAME(k_pointwise_add, CUDNN_POINTWISE_ADD);
SAME(k_pointwise_relu_forward, CUDNN_POINTWISE_RELU_FWD);
SAME(k_pointwise_math_precision, CUDNN_ATTR_POINTWISE_MATH_PREC);
SAME(k_pointwise_axis, CUDNN_ATTR_POINTWISE_AXIS);
SAME(k_convolution_compute_type, CUDNN_ATTR_CONVOLUTION_COMP_TYPE);
SAME(k_convolution_conv_mode, CUDNN_ATTR_CONVOLUTION_CONV_MODE);
SAME(k_convolution_dilations, CUDNN_ATTR_CONVOLUTION_DILATIONS);
SAME(k_convolution_filter_strides, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
SAME(k_convolution_post_paddings, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
SAME(k_convolution_pre_paddings, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
SAME(k_convolution_spatial_dims, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
SAME(k_engineheur_mode, CUDNN_ATTR_ENGINEHEUR_MODE);
SAME(k_engineheur_operation_graph, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
SAME(k_engineheur_results, CUDNN_ATTR_ENGINEHEUR_RESULTS);
SAME(k_engineheur_sm_count_target, CUDNN_ATTR_ENGINEHEUR_SM_COUNT_TARGET);
SAME(k_engineheur_deviceprop, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
SAME(k_enginecfg_engine, CUDNN_ATTR_ENGINECFG_ENGINE);
SAME(k_enginecfg_knob_choices, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES);
SAME(k_enginecfg_workspace_size, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE);
SAME(k_plan_handle, CUDNN_ATTR_EXECUTION_PLAN_HANDLE);
SAME(k_plan_engine_config, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
SAME(k_plan_workspace_size, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
SAME(k_knob_choice_knob_type, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE);
SAME(k_knob_choice_knob_value, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE);
SAME(k_forward_alpha, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA);
SAME(k_forward_beta, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA);
SAME(k_forward_conv_desc, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
SAME(k_forward_w, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W);
SAME(k_forward_x, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X);
SAME(k_forward_y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
SAME(k_backward_data_alpha, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA);
SAME(k_backward_data_beta, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA);
SAME(k_backward_data_conv_desc, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC);
SAME(k_backward_data_w, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W);
SAME(k_backward_data_dx, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX);
SAME(k_backward_data_dy, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY);
SAME(k_backward_filter_alpha, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA);
SAME(k_backward_filter_beta, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA);
SAME(k_backward_filter_conv_desc, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC);
SAME(k_backward_filter_dw, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW);
SAME(k_backward_filter_x, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X);
SAME(k_backward_filter_dy, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY);
SAME(k_operation_pointwise_pw_descriptor, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
SAME(k_operation_pointwise_x, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
SAME(k_operation_pointwise_b, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
SAME(k_operation_pointwise_y, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
SAME(k_operation_pointwise_alpha1, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1);
SAME(k_operation_pointwise_alpha2, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2);
SAME(k_operation_pointwise_dx, CUDNN_ATTR_OPERATION_POINTWISE_DXDESC);
SAME(k_operation_pointwise_dy, CUDNN_ATTR_OPERATION_POINTWISE_DYDESC);
SAME(k_operation_pointwise_t, CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
SAME(k_operationgraph_handle, CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
SAME(k_operationgraph_ops, CUDNN_ATTR_OPERATIONGRAPH_OPS);
SAME(k_tensor_byte_alignment, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
SAME(k_tensor_data_type, CUDNN_ATTR_TENSOR_DATA_TYPE);
SAME(k_tensor_dimensions, CUDNN_ATTR_TENSOR_DIMENSIONS);
SAME(k_tensor_strides, CUDNN_ATTR_TENSOR_STRIDES);
SAME(k_tensor_vector_count, CUDNN_ATTR_TENSOR_VECTOR_COUNT);
SAME(k_tensor_vectorized_dimension, CUDNN_ATTR_TENSOR_VECTORIZED_DIMENSION);
SAME(k_tensor_unique_id, CUDNN_ATTR_TENSOR_UNIQUE_ID);
SAME(k_tensor_is_virtual, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
SAME(k_tensor_is_by_value, CUDNN_ATTR_TENSOR_IS_BY_VALUE);
SAME(k_tensor_reordering_mode, CUDNN_ATTR_TENSOR_REORDERING_MODE);
SAME(k_variant_pack_unique_ids, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
SAME(k_variant_pack_data_pointers, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
SAME(k_variant_pack_workspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
SAME(k_engine_operation_graph, CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
SAME(k_engine_global_index, CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
SAME(k_engine_numerical_note, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE);
SAME(k_engine_behavior_note, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE);
SAME(k_engine_sm_count_target, CUDNN_ATTR_ENGINE_SM_COUNT_TARGET);
SAME(k_engine_deviceprop, CUDNN_ATTR_ENGINE_DEVICEPROP);
SAME(k_deviceprop_json, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
SAME(k_mode_instant, CUDNN_HEUR_MODE_INSTANT);
SAME(k_mode_b, CUDNN_HEUR_MODE_B);
SAME(k_mode_fallback, CUDNN_HEUR_MODE_FALLBACK);
SAME(k_mode_a, CUDNN_HEUR_MODE_A);
SAME(k_note_tensor_core, CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
SAME(k_note_down_convert_inputs, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
SAME(k_note_reduced_precision_reduction, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION);
SAME(k_note_fft, CUDNN_NUMERICAL_NOTE_FFT);
SAME(k_note_nondeterministic, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
SAME(k_note_winograd, CUDNN_NUMERICAL_NOTE_WINOGRAD);
SAME(k_note_strict_nan_prop, CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP);
SAME(k_behavior_runtime_compilation, CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION);
SAME(k_behavior_requires_filter_reorder, CUDNN_BEHAVIOR_NOTE_REQUIRES_FILTER_INT8x32_REORDER);
SAME(k_behavior_requires_bias_reorder, CUDNN_BEHAVIOR_NOTE_REQUIRES_BIAS_INT8x32_REORDER);
SAME(k_behavior_supports_cuda_graph, CUDNN_BEHAVIOR_NOTE_SUPPORTS_CUDA_GRAPH_NATIVE_API);

#if CUDNN_MAJOR >= 9
SAME(k_fp8_e8m0, CUDNN_DATA_FP8_E8M0);
SAME(k_fp4_e2m1, CUDNN_DATA_FP4_E2M1);
SAME(k_int4, CUDNN_DATA_INT4);
SAME(k_uint4, CUDNN_DATA_UINT4);
SAME(k_uint32, CUDNN_DATA_UINT32);
SAME(k_complex_fp32, CUDNN_DATA_COMPLEX_FP32);
SAME(k_complex_fp64, CUDNN_DATA_COMPLEX_FP64);
static_assert(CUDNN_NUMERICAL_NOTE_TYPE_COUNT <= abi::k_max_numerical_notes);
static_assert(CUDNN_BEHAVIOR_NOTE_TYPE_COUNT <= abi::k_max_behavior_notes);
static_assert(CUDNN_KNOB_TYPE_COUNTS <= abi::k_max_knobs);
#endif

static_assert(CUDNN_ACTIVATION_RELU == abi::k_activation_relu);
static_assert(CUDNN_ACTIVATION_IDENTITY == abi::k_activation_identity);

// The three result structures have one layout.
#define SAME_LAYOUT(theirs)                                                               \
    static_assert(sizeof(abi::AlgoPerf) == sizeof(theirs));                               \
    static_assert(offsetof(abi::AlgoPerf, algo) == offsetof(theirs, algo));               \
    static_assert(offsetof(abi::AlgoPerf, status) == offsetof(theirs, status));           \
    static_assert(offsetof(abi::AlgoPerf, time) == offsetof(theirs, time));               \
    static_assert(offsetof(abi::AlgoPerf, memory) == offsetof(theirs, memory));           \
    static_assert(offsetof(abi::AlgoPerf, determinism) == offsetof(theirs, determinism)); \
    static_assert(offsetof(abi::AlgoPerf, math_type) == offsetof(theirs, mathType));      \
    static_assert(offsetof(abi::AlgoPerf, reserved) == offsetof(theirs, reserved))
SAME_LAYOUT(cudnnConvolutionFwdAlgoPerf_t);
SAME_LAYOUT(cudnnConvolutionBwdDataAlgoPerf_t);
SAME_LAYOUT(cudnnConvolutionBwdFilterAlgoPerf_t);

// Prototypes: the same number of arguments, each passed in the same way (pointers and integers of equal size).
template <typename Ours, typename Theirs>
constexpr bool passed_alike() {
    if constexpr (std::is_void_v<Ours> || std::is_void_v<Theirs>) {
        return std::is_void_v<Ours> && std::is_void_v<Theirs>;
    } else if constexpr (std::is_pointer_v<Ours> || std::is_pointer_v<Theirs>) {
        return std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>;
    } else {
        return sizeof(Ours) == sizeof(Theirs) && std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs>;
    }
}
template <typename Ours, typename Theirs>
struct SameCall : std::false_type {};
template <typename R, typename... A, typename S, typename... B>
requires(sizeof...(A) == sizeof...(B)) struct SameCall<R (*)(A...), S (*)(B...)>
    : std::bool_constant<passed_alike<R, S>() && (passed_alike<A, B>() && ...)> {
};

#define SAME_CALL(ours, theirs) static_assert(SameCall<abi::ours, decltype(&theirs)>::value)

SAME_CALL(GetVersionFn, cudnnGetVersion);
SAME_CALL(GetVersionFn, cudnnGetCudartVersion);
SAME_CALL(CreateHandleFn, cudnnCreate);
SAME_CALL(HandleFn, cudnnDestroy);
#if CUDNN_MAJOR >= 9
SAME_CALL(GetLastErrorStringFn, cudnnGetLastErrorString);
#endif
SAME_CALL(GetStreamFn, cudnnGetStream);
SAME_CALL(SetStreamFn, cudnnSetStream);
SAME_CALL(GetTensorSizeFn, cudnnGetTensorSizeInBytes);
SAME_CALL(GetTensorNdDescriptorFn, cudnnGetTensorNdDescriptor);
SAME_CALL(GetFilterNdDescriptorFn, cudnnGetFilterNdDescriptor);
SAME_CALL(GetConvolutionNdDescriptorFn, cudnnGetConvolutionNdDescriptor);
SAME_CALL(GetConvolutionIntFn, cudnnGetConvolutionMathType);
SAME_CALL(GetConvolutionIntFn, cudnnGetConvolutionGroupCount);
SAME_CALL(GetConvolutionIntFn, cudnnGetConvolutionReorderType);
SAME_CALL(SetConvolutionIntFn, cudnnSetConvolutionMathType);
SAME_CALL(SetConvolutionIntFn, cudnnSetConvolutionGroupCount);
SAME_CALL(SetConvolutionIntFn, cudnnSetConvolutionReorderType);
SAME_CALL(CreateConvolutionDescriptorFn, cudnnCreateConvolutionDescriptor);
SAME_CALL(DestroyConvolutionDescriptorFn, cudnnDestroyConvolutionDescriptor);
SAME_CALL(SetConvolutionNdDescriptorFn, cudnnSetConvolutionNdDescriptor);
SAME_CALL(GetWorkspaceSizeFn, cudnnGetConvolutionForwardWorkspaceSize);
SAME_CALL(GetWorkspaceSizeFn, cudnnGetConvolutionBackwardDataWorkspaceSize);
SAME_CALL(GetWorkspaceSizeFn, cudnnGetConvolutionBackwardFilterWorkspaceSize);
SAME_CALL(ConvolutionFn, cudnnConvolutionForward);
SAME_CALL(ConvolutionFn, cudnnConvolutionBackwardData);
SAME_CALL(ConvolutionFn, cudnnConvolutionBackwardFilter);
SAME_CALL(ConvolutionBiasActivationFn, cudnnConvolutionBiasActivationForward);
SAME_CALL(GetActivationDescriptorFn, cudnnGetActivationDescriptor);
SAME_CALL(GetAlgorithmV7Fn, cudnnGetConvolutionForwardAlgorithm_v7);
SAME_CALL(GetAlgorithmV7Fn, cudnnGetConvolutionBackwardDataAlgorithm_v7);
SAME_CALL(GetAlgorithmV7Fn, cudnnGetConvolutionBackwardFilterAlgorithm_v7);
SAME_CALL(FindAlgorithmFn, cudnnFindConvolutionForwardAlgorithm);
SAME_CALL(FindAlgorithmFn, cudnnFindConvolutionBackwardDataAlgorithm);
SAME_CALL(FindAlgorithmFn, cudnnFindConvolutionBackwardFilterAlgorithm);
SAME_CALL(FindAlgorithmExFn, cudnnFindConvolutionForwardAlgorithmEx);
SAME_CALL(FindAlgorithmExFn, cudnnFindConvolutionBackwardDataAlgorithmEx);
SAME_CALL(FindAlgorithmExFn, cudnnFindConvolutionBackwardFilterAlgorithmEx);
SAME_CALL(BackendCreateDescriptorFn, cudnnBackendCreateDescriptor);
SAME_CALL(BackendDescriptorFn, cudnnBackendInitialize);
SAME_CALL(BackendDescriptorFn, cudnnBackendFinalize);
SAME_CALL(BackendDescriptorFn, cudnnBackendDestroyDescriptor);
SAME_CALL(BackendSetAttributeFn, cudnnBackendSetAttribute);
SAME_CALL(BackendGetAttributeFn, cudnnBackendGetAttribute);
SAME_CALL(BackendExecuteFn, cudnnBackendExecute);
