// SPDX-License-Identifier: Apache-2.0
// Exported functions of the graph library: versions, errors, handles.
#include <algorithm>
#include <cstring>
#include <string>

#include "common/call_log.hpp"
#include "cudnn/functions.hpp"
#include "cudnn/kernel.hpp"
#include "cudnn/status.hpp"
#include "cudnn/variant.hpp"

using namespace cudnn_tune::sim;
namespace abi = cudnn_tune::abi;

namespace {

constexpr std::size_t k_error_text_bytes = 512;
thread_local char t_last_error[k_error_text_bytes] = "";

Outcome create(abi::Handle* handle) {
    const DriverCalls* const driver = driver_calls();
    if (handle == nullptr) {
        return Outcome::bad_param;
    }
    if (driver == nullptr || driver->init(0) != abi::k_cu_success) {
        return Outcome::not_initialized;
    }
    // As the CUDA runtime does for a thread without a context.
    abi::CuContext context = nullptr;
    if (driver->ctx_get_current(&context) != abi::k_cu_success || context == nullptr) {
        if (driver->primary_ctx_retain(&context, 0) != abi::k_cu_success ||
            driver->ctx_set_current(context) != abi::k_cu_success) {
            return Outcome::not_initialized;
        }
    }
    *handle = new LegacyHandle{driver->current_device(), nullptr};
    return Outcome::success;
}

}  // namespace

__attribute__((visibility("default"))) void simCudnnSetLastError(const char* text) {
    std::strncpy(t_last_error, text, k_error_text_bytes - 1);
}

std::size_t cudnnGetVersion() {
    LogLine("cudnnGetVersion").add("library", k_variant.name);
    return static_cast<std::size_t>(cudnn_version());
}

std::size_t cudnnGetCudartVersion() {
    LogLine("cudnnGetCudartVersion").add("library", k_variant.name);
    return static_cast<std::size_t>(script().cudart_version.value_or(k_variant.default_cudart));
}

const char* cudnnGetErrorString(abi::Status status) {
    return status == abi::k_success ? "simulated cuDNN: success" : "simulated cuDNN: error";
}

// As in the real library, reading the text clears it.
void cudnnGetLastErrorString(char* text, std::size_t bytes) {
    if (text != nullptr && bytes > 0) {
        const std::size_t length = std::min(std::strlen(t_last_error), bytes - 1);
        std::memcpy(text, t_last_error, length);
        text[length] = '\0';
        t_last_error[0] = '\0';
    }
}

abi::Status cudnnCreate(abi::Handle* handle) {
    LogLine line("cudnnCreate");
    line.add("library", k_variant.name);
    const Outcome outcome = create(handle);
    return line.result(finish(outcome, "cudnnCreate"));
}

abi::Status cudnnDestroy(abi::Handle handle) {
    LogLine line("cudnnDestroy");
    delete static_cast<LegacyHandle*>(handle);
    return line.result(finish(handle == nullptr ? Outcome::bad_param : Outcome::success, "cudnnDestroy"));
}

abi::Status cudnnSetStream(abi::Handle handle, abi::Stream stream) {
    LogLine line("cudnnSetStream");
    line.add("stream_handle", stream);
    if (handle == nullptr) {
        return line.result(finish(Outcome::bad_param, "cudnnSetStream"));
    }
    static_cast<LegacyHandle*>(handle)->stream = stream;
    return line.result(abi::k_success);
}

abi::Status cudnnGetStream(abi::Handle handle, abi::Stream* stream) {
    LogLine line("cudnnGetStream");
    if (handle == nullptr || stream == nullptr) {
        return line.result(finish(Outcome::bad_param, "cudnnGetStream"));
    }
    *stream = static_cast<LegacyHandle*>(handle)->stream;
    return line.result(abi::k_success);
}
