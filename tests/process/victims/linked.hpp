// SPDX-License-Identifier: Apache-2.0
// The functions as an object that is linked to cuDNN sees them.
#pragma once

#include <type_traits>

#include "victims/scenario.hpp"

extern "C" {
std::size_t cudnnGetVersion();
int cudnnFakeCallsOf(const char* name);
std::remove_pointer_t<victims::GetAlgorithmV7Fn> cudnnGetConvolutionForwardAlgorithm_v7;
std::remove_pointer_t<victims::FindAlgorithmFn> cudnnFindConvolutionForwardAlgorithm;
std::remove_pointer_t<victims::FindAlgorithmFn> cudnnFindConvolutionBackwardDataAlgorithm;
std::remove_pointer_t<victims::FindAlgorithmExFn> cudnnFindConvolutionForwardAlgorithmEx;
std::remove_pointer_t<victims::GetWorkspaceSizeFn> cudnnGetConvolutionForwardWorkspaceSize;
std::remove_pointer_t<victims::GetWorkspaceSizeFn> cudnnGetConvolutionBackwardDataWorkspaceSize;
std::remove_pointer_t<victims::GetWorkspaceSizeFn> cudnnGetConvolutionBackwardFilterWorkspaceSize;
std::remove_pointer_t<victims::ConvolutionFn> cudnnConvolutionForward;
std::remove_pointer_t<victims::ConvolutionFn> cudnnConvolutionBackwardData;
std::remove_pointer_t<victims::ConvolutionFn> cudnnConvolutionBackwardFilter;
std::remove_pointer_t<victims::ConvolutionBiasActivationFn> cudnnConvolutionBiasActivationForward;
std::remove_pointer_t<victims::BackendCreateDescriptorFn> cudnnBackendCreateDescriptor;
std::remove_pointer_t<victims::BackendDescriptorFn> cudnnBackendInitialize;
std::remove_pointer_t<victims::BackendDescriptorFn> cudnnBackendFinalize;
std::remove_pointer_t<victims::BackendDescriptorFn> cudnnBackendDestroyDescriptor;
std::remove_pointer_t<victims::BackendSetAttributeFn> cudnnBackendSetAttribute;
std::remove_pointer_t<victims::BackendGetAttributeFn> cudnnBackendGetAttribute;
std::remove_pointer_t<victims::BackendExecuteFn> cudnnBackendExecute;
}

namespace victims {

inline Cudnn linked_cudnn() {
    return {cudnnGetConvolutionForwardAlgorithm_v7,
            cudnnFindConvolutionForwardAlgorithm,
            cudnnFindConvolutionForwardAlgorithmEx,
            cudnnFindConvolutionBackwardDataAlgorithm,
            cudnnBackendCreateDescriptor,
            cudnnBackendInitialize,
            cudnnBackendDestroyDescriptor,
            cudnnBackendSetAttribute,
            cudnnBackendGetAttribute};
}

}  // namespace victims
