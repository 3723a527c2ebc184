// SPDX-License-Identifier: Apache-2.0
// Where a PyTorch process's time goes while it chooses convolutions: a library to be preloaded before
// libcudnn_tune.so, which counts and times cuDNN's and the CUDA run-time library's calls of the whole process.
// call_times_json() tells what was counted so far; torch_models.py --call-times prints it after the first step.
// Linked with cuDNN: the real library is then found from here, as from any of its clients (LD_LIBRARY_PATH).
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <sstream>
#include <string>
#include <unordered_map>

#include "abi/backend.hpp"
#include "abi/cudnn.hpp"

using namespace cudnn_tune;  // NOLINT: the exported functions are outside any namespace

namespace {

enum Call : std::size_t {
    k_finalize_heuristics,
    k_finalize_plan,
    k_finalize_other,
    k_list_count,
    k_list_fill,
    k_execute,
    k_cuda_malloc,
    k_cuda_free,
    k_synchronize_device,
    k_synchronize_event,
    k_synchronize_stream,
    k_nb_calls
};
constexpr std::array<const char*, k_nb_calls> k_names = {"finalize_heuristics",
                                                         "finalize_plan",
                                                         "finalize_other",
                                                         "list_count",
                                                         "list_fill",
                                                         "execute",
                                                         "cudaMalloc",
                                                         "cudaFree",
                                                         "cudaDeviceSynchronize",
                                                         "cudaEventSynchronize",
                                                         "cudaStreamSynchronize"};

constexpr std::size_t k_nb_longest = 8;

struct Total {
    std::int64_t count = 0;
    std::int64_t time_ns = 0;
    std::array<std::int64_t, k_nb_longest> longest_ns{};  // descending

    void add(std::int64_t duration_ns) {
        ++count;
        time_ns += duration_ns;
        if (duration_ns > longest_ns.back()) {
            longest_ns.back() = duration_ns;
            std::ranges::sort(longest_ns, std::greater());
        }
    }
};
std::mutex g_mutex;
std::array<Total, k_nb_calls> g_totals;

class Stopwatch {
  public:
    explicit Stopwatch(Call call) : m_call(call) {}
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;
    ~Stopwatch() {
        const std::chrono::nanoseconds duration = std::chrono::steady_clock::now() - m_start;
        const std::lock_guard lock(g_mutex);
        g_totals[m_call].add(duration.count());
    }

  private:
    Call m_call;
    std::chrono::steady_clock::time_point m_start = std::chrono::steady_clock::now();
};

// Python opens the CUDA run-time library for itself alone, so that it is not among the next libraries.
template <typename Function>
Function* next(const char* name) {
    void* found = dlsym(RTLD_NEXT, name);
    for (const char* const library : {"libcudart.so.13", "libcudart.so.12"}) {
        void* const handle = found == nullptr ? dlopen(library, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
        found = handle != nullptr ? dlsym(handle, name) : found;
    }
    return reinterpret_cast<Function*>(found);
}

std::unordered_map<const void*, int> g_types;  // of the descriptors that plans and lists are made with

Call finalize_call(const void* descriptor) {
    const std::lock_guard lock(g_mutex);
    const auto found = g_types.find(descriptor);
    const int type = found != g_types.end() ? found->second : -1;
    return type == abi::k_engineheur_descriptor ? k_finalize_heuristics
           : type == abi::k_plan_descriptor     ? k_finalize_plan
                                                : k_finalize_other;
}

}  // namespace

#define COUNTED extern "C" __attribute__((visibility("default")))

COUNTED abi::Status cudnnBackendCreateDescriptor(int type, abi::BackendDescriptor* descriptor) {
    static auto* const real = next<abi::Status(int, abi::BackendDescriptor*)>("cudnnBackendCreateDescriptor");
    const abi::Status status = real(type, descriptor);
    if (status == abi::k_success) {
        const std::lock_guard lock(g_mutex);
        g_types[*descriptor] = type;
    }
    return status;
}

COUNTED abi::Status cudnnBackendFinalize(abi::BackendDescriptor descriptor) {
    static auto* const real = next<abi::Status(abi::BackendDescriptor)>("cudnnBackendFinalize");
    const Stopwatch stopwatch(finalize_call(descriptor));
    return real(descriptor);
}

COUNTED abi::Status cudnnBackendGetAttribute(abi::BackendDescriptor descriptor, int name, int type,
                                             std::int64_t requested, std::int64_t* count, void* elements) {
    static auto* const real = next<abi::Status(abi::BackendDescriptor, int, int, std::int64_t, std::int64_t*, void*)>(
        "cudnnBackendGetAttribute");
    if (name != abi::k_engineheur_results) {
        return real(descriptor, name, type, requested, count, elements);
    }
    const Stopwatch stopwatch(requested > 0 ? k_list_fill : k_list_count);
    return real(descriptor, name, type, requested, count, elements);
}

COUNTED abi::Status cudnnBackendExecute(abi::Handle handle, abi::BackendDescriptor plan, abi::BackendDescriptor pack) {
    static auto* const real =
        next<abi::Status(abi::Handle, abi::BackendDescriptor, abi::BackendDescriptor)>("cudnnBackendExecute");
    const Stopwatch stopwatch(k_execute);
    return real(handle, plan, pack);
}

COUNTED int cudaMalloc(void** pointer, std::size_t bytes) {
    static auto* const real = next<int(void**, std::size_t)>("cudaMalloc");
    const Stopwatch stopwatch(k_cuda_malloc);
    return real(pointer, bytes);
}

COUNTED int cudaFree(void* pointer) {
    static auto* const real = next<int(void*)>("cudaFree");
    const Stopwatch stopwatch(k_cuda_free);
    return real(pointer);
}

COUNTED int cudaDeviceSynchronize() {
    static auto* const real = next<int()>("cudaDeviceSynchronize");
    const Stopwatch stopwatch(k_synchronize_device);
    return real();
}

COUNTED int cudaEventSynchronize(void* event) {
    static auto* const real = next<int(void*)>("cudaEventSynchronize");
    const Stopwatch stopwatch(k_synchronize_event);
    return real(event);
}

COUNTED int cudaStreamSynchronize(void* stream) {
    static auto* const real = next<int(void*)>("cudaStreamSynchronize");
    const Stopwatch stopwatch(k_synchronize_stream);
    return real(stream);
}

// {"name": [calls, milliseconds, [the longest of them, milliseconds]], …}; valid until the thread calls it again.
COUNTED const char* call_times_json() {
    thread_local std::string json;
    std::ostringstream out;
    const auto in_ms = [](std::int64_t time_ns) { return static_cast<double>(time_ns) / 1e6; };
    const std::lock_guard lock(g_mutex);
    for (std::size_t i = 0; i < k_nb_calls; ++i) {
        const Total& total = g_totals[i];
        out << (i == 0 ? "{" : ", ") << '"' << k_names[i] << "\": [" << total.count << ", " << in_ms(total.time_ns);
        const char* separator = ", [";
        for (const std::int64_t longest_ns : total.longest_ns) {
            out << separator << in_ms(longest_ns);
            separator = ", ";
        }
        out << "]]";
    }
    out << '}';
    json = out.str();
    return json.c_str();
}
