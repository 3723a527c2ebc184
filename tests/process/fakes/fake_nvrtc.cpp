// SPDX-License-Identifier: Apache-2.0
// A stand-in for libnvrtc: one function that is wrapped and one that is not.
extern "C" __attribute__((visibility("default"))) int nvrtcCompileProgram() { return 4; }
extern "C" __attribute__((visibility("default"))) int nvrtcVersion() { return 2; }
