/* SPDX-License-Identifier: Apache-2.0 */
/* The version of cudnn-tune that these headers belong to. */
#pragma once

#define CUDNN_TUNE_VERSION_MAJOR 0
#define CUDNN_TUNE_VERSION_MINOR 1
#define CUDNN_TUNE_VERSION_PATCH 0
#define CUDNN_TUNE_VERSION "0.1.0"
