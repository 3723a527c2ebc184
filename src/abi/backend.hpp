// SPDX-License-Identifier: Apache-2.0
// Constants of cuDNN's backend (graph) API that this project uses; see cudnn.hpp.
#pragma once

namespace cudnn_tune::abi {

// cudnnBackendDescriptorType_t
inline constexpr int k_pointwise_descriptor = 0;
inline constexpr int k_convolution_descriptor = 1;
inline constexpr int k_engine_descriptor = 2;
inline constexpr int k_enginecfg_descriptor = 3;
inline constexpr int k_engineheur_descriptor = 4;
inline constexpr int k_plan_descriptor = 5;
inline constexpr int k_knob_choice_descriptor = 7;
inline constexpr int k_operation_forward_descriptor = 10;
inline constexpr int k_operation_backward_filter_descriptor = 11;
inline constexpr int k_operation_backward_data_descriptor = 12;
inline constexpr int k_operation_pointwise_descriptor = 13;
inline constexpr int k_operationgraph_descriptor = 15;
inline constexpr int k_variant_pack_descriptor = 16;
inline constexpr int k_tensor_descriptor = 17;
inline constexpr int k_deviceprop_descriptor = 38;

// cudnnBackendAttributeType_t
inline constexpr int k_type_handle = 0;
inline constexpr int k_type_data_type = 1;
inline constexpr int k_type_boolean = 2;
inline constexpr int k_type_int64 = 3;
inline constexpr int k_type_float = 4;
inline constexpr int k_type_double = 5;
inline constexpr int k_type_void_ptr = 6;
inline constexpr int k_type_convolution_mode = 7;
inline constexpr int k_type_heur_mode = 8;
inline constexpr int k_type_knob_type = 9;
inline constexpr int k_type_nan_propagation = 10;
inline constexpr int k_type_numerical_note = 11;
inline constexpr int k_type_pointwise_mode = 14;
inline constexpr int k_type_backend_descriptor = 15;
inline constexpr int k_type_behavior_note = 19;
inline constexpr int k_type_tensor_reordering_mode = 20;
inline constexpr int k_type_int32 = 23;
inline constexpr int k_type_char = 24;

// cudnnBackendAttributeName_t
inline constexpr int k_pointwise_mode = 0;
inline constexpr int k_pointwise_math_precision = 1;
inline constexpr int k_pointwise_nan_propagation = 2;
inline constexpr int k_pointwise_axis = 9;
inline constexpr int k_convolution_compute_type = 100;
inline constexpr int k_convolution_conv_mode = 101;
inline constexpr int k_convolution_dilations = 102;
inline constexpr int k_convolution_filter_strides = 103;
inline constexpr int k_convolution_post_paddings = 104;
inline constexpr int k_convolution_pre_paddings = 105;
inline constexpr int k_convolution_spatial_dims = 106;
inline constexpr int k_engineheur_mode = 200;
inline constexpr int k_engineheur_operation_graph = 201;
inline constexpr int k_engineheur_results = 202;
inline constexpr int k_engineheur_sm_count_target = 203;
inline constexpr int k_engineheur_deviceprop = 204;
inline constexpr int k_enginecfg_engine = 300;
inline constexpr int k_enginecfg_knob_choices = 302;
inline constexpr int k_enginecfg_workspace_size = 303;
inline constexpr int k_plan_handle = 400;
inline constexpr int k_plan_engine_config = 401;
inline constexpr int k_plan_workspace_size = 402;
inline constexpr int k_knob_choice_knob_type = 600;
inline constexpr int k_knob_choice_knob_value = 601;
// The three convolution operations number their attributes alike: alpha, beta, convolution, then three tensors.
inline constexpr int k_forward_alpha = 700;
inline constexpr int k_forward_beta = 701;
inline constexpr int k_forward_conv_desc = 702;
inline constexpr int k_forward_w = 703;
inline constexpr int k_forward_x = 704;
inline constexpr int k_forward_y = 705;
inline constexpr int k_backward_data_alpha = 706;
inline constexpr int k_backward_data_beta = 707;
inline constexpr int k_backward_data_conv_desc = 708;
inline constexpr int k_backward_data_w = 709;
inline constexpr int k_backward_data_dx = 710;
inline constexpr int k_backward_data_dy = 711;
inline constexpr int k_backward_filter_alpha = 712;
inline constexpr int k_backward_filter_beta = 713;
inline constexpr int k_backward_filter_conv_desc = 714;
inline constexpr int k_backward_filter_dw = 715;
inline constexpr int k_backward_filter_x = 716;
inline constexpr int k_backward_filter_dy = 717;
inline constexpr int k_operation_pointwise_pw_descriptor = 750;
inline constexpr int k_operation_pointwise_x = 751;
inline constexpr int k_operation_pointwise_b = 752;
inline constexpr int k_operation_pointwise_y = 753;
inline constexpr int k_operation_pointwise_alpha1 = 754;
inline constexpr int k_operation_pointwise_alpha2 = 755;
inline constexpr int k_operation_pointwise_dx = 756;
inline constexpr int k_operation_pointwise_dy = 757;
inline constexpr int k_operation_pointwise_t = 758;
inline constexpr int k_operationgraph_handle = 800;
inline constexpr int k_operationgraph_ops = 801;
inline constexpr int k_tensor_byte_alignment = 900;
inline constexpr int k_tensor_data_type = 901;
inline constexpr int k_tensor_dimensions = 902;
inline constexpr int k_tensor_strides = 903;
inline constexpr int k_tensor_vector_count = 904;
inline constexpr int k_tensor_vectorized_dimension = 905;
inline constexpr int k_tensor_unique_id = 906;
inline constexpr int k_tensor_is_virtual = 907;
inline constexpr int k_tensor_is_by_value = 908;
inline constexpr int k_tensor_reordering_mode = 909;
inline constexpr int k_variant_pack_unique_ids = 1000;
inline constexpr int k_variant_pack_data_pointers = 1001;
inline constexpr int k_variant_pack_workspace = 1003;
inline constexpr int k_engine_operation_graph = 1300;
inline constexpr int k_engine_global_index = 1301;
inline constexpr int k_engine_numerical_note = 1303;
inline constexpr int k_engine_behavior_note = 1305;
inline constexpr int k_engine_sm_count_target = 1306;
inline constexpr int k_engine_deviceprop = 1307;
inline constexpr int k_deviceprop_json = 2702;

// cudnnPointwiseMode_t
inline constexpr int k_pointwise_add = 0;
inline constexpr int k_pointwise_relu_forward = 100;

// cudnnBackendHeurMode_t
inline constexpr int k_mode_instant = 0;
inline constexpr int k_mode_b = 1;
inline constexpr int k_mode_fallback = 2;
inline constexpr int k_mode_a = 3;

// Bits of Candidate::numerical_notes (cudnnBackendNumericalNote_t) and behavior_notes (cudnnBackendBehaviorNote_t).
inline constexpr int k_note_tensor_core = 0;
inline constexpr int k_note_down_convert_inputs = 1;
inline constexpr int k_note_reduced_precision_reduction = 2;
inline constexpr int k_note_fft = 3;
inline constexpr int k_note_nondeterministic = 4;
inline constexpr int k_note_winograd = 5;
inline constexpr int k_note_strict_nan_prop = 9;
inline constexpr int k_max_numerical_notes = 32;  // asked for at once: room for later versions' notes
inline constexpr int k_behavior_runtime_compilation = 0;
inline constexpr int k_behavior_requires_filter_reorder = 1;
inline constexpr int k_behavior_requires_bias_reorder = 2;
inline constexpr int k_behavior_supports_cuda_graph = 3;
inline constexpr int k_max_behavior_notes = 32;
// cuDNN 9.19 knows 44 knob types (CUDNN_KNOB_TYPE_COUNTS); asking for fewer than it has cuts the list.
inline constexpr int k_max_knobs = 128;

}  // namespace cudnn_tune::abi
