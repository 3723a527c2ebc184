// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 that knows no device, for machines without a driver: cuDNN 9.28 has a library that names
// libcuda.so.1 as needed and does not load without one (9.24 has none), though it needs no device in these tests.
// The names are those that cuDNN 9.28 looks up.
namespace {

constexpr int k_no_device = 100;  // CUDA_ERROR_NO_DEVICE

}  // namespace

// The arguments are left alone, so the prototypes do not matter.
#define NO_DEVICE(name) \
    extern "C" __attribute__((visibility("default"))) int name() { return k_no_device; }

NO_DEVICE(cuInit)
NO_DEVICE(cuDriverGetVersion)
NO_DEVICE(cuGetErrorString)
NO_DEVICE(cuGetErrorName)
NO_DEVICE(cuDeviceGet)
NO_DEVICE(cuDeviceGetCount)
NO_DEVICE(cuCtxGetCurrent)
NO_DEVICE(cuCtxGetLimit)
NO_DEVICE(cuCtxPopCurrent)
NO_DEVICE(cuCtxPushCurrent)
NO_DEVICE(cuStreamGetCtx)
NO_DEVICE(cuModuleLoadData)
NO_DEVICE(cuModuleGetFunction)
NO_DEVICE(cuModuleUnload)
NO_DEVICE(cuLibraryLoadData)
NO_DEVICE(cuLibraryLoadFromFile)
NO_DEVICE(cuLibraryGetKernel)
NO_DEVICE(cuLibraryUnload)
NO_DEVICE(cuKernelGetAttribute)
NO_DEVICE(cuKernelSetAttribute)
NO_DEVICE(cuKernelGetFunction)
NO_DEVICE(cuLaunchKernel)
NO_DEVICE(cuLaunchKernelEx)
NO_DEVICE(cuLaunchCooperativeKernel)
NO_DEVICE(cuLinkCreate)
NO_DEVICE(cuLinkAddData)
NO_DEVICE(cuLinkComplete)
NO_DEVICE(cuLinkDestroy)
NO_DEVICE(cuOccupancyMaxPotentialClusterSize)
NO_DEVICE(cuTensorMapEncodeTiled)
NO_DEVICE(cuTensorMapEncodeIm2col)
