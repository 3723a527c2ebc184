// SPDX-License-Identifier: Apache-2.0
// What the policy `upgrade` adds to a convolution of the legacy API before cudnnBackendExecute, or before the real call
// where the plan does not fit. Descriptors and variant packs are those of the library that CUDNN_TUNE_BENCH_CUDNN
// names; what needs a GPU (engines, plans, execution) does nothing here. Without a GPU, no time says anything about
// one.
#include <benchmark/benchmark.h>

#include <array>
#include <string_view>

#include "abi/backend.hpp"
#include "libraries.hpp"
#include "tune/context.hpp"
#include "tune/upgrade_service.hpp"

namespace cudnn_tune {
namespace {

abi::BackendDescriptorFn g_finalize = nullptr;
abi::BackendSetAttributeFn g_set = nullptr;

bool is_of_pack(int name) { return name >= abi::k_variant_pack_unique_ids && name <= abi::k_variant_pack_workspace; }

// A pack is what set() has filled last: everything else is finalized before the first pack is.
thread_local abi::BackendDescriptor t_pack = nullptr;

abi::Status set(abi::BackendDescriptor descriptor, int name, int type, std::int64_t count, const void* values) {
    if (!is_of_pack(name)) {
        return abi::k_success;
    }
    t_pack = descriptor;
    return g_set(descriptor, name, type, count, values);
}
abi::Status get(abi::BackendDescriptor, int, int, std::int64_t, std::int64_t* count, void* value) {
    *count = 1;
    *static_cast<std::int64_t*>(value) = 0;
    return abi::k_success;
}
abi::Status finalize(abi::BackendDescriptor descriptor) {
    return descriptor == t_pack ? g_finalize(descriptor) : abi::k_success;
}
abi::Status execute(abi::Handle, abi::BackendDescriptor, abi::BackendDescriptor) { return abi::k_success; }
abi::Status get_stream(abi::Handle, abi::Stream* stream) {
    *stream = nullptr;
    return abi::k_success;
}

void* find_without_gpu(void* handle, const char* name) {
    const std::string_view wanted = name;
    return wanted == "cudnnBackendSetAttribute"   ? reinterpret_cast<void*>(&set)
           : wanted == "cudnnBackendGetAttribute" ? reinterpret_cast<void*>(&get)
           : wanted == "cudnnBackendFinalize"     ? reinterpret_cast<void*>(&finalize)
           : wanted == "cudnnBackendExecute"      ? reinterpret_cast<void*>(&execute)
           : wanted == "cudnnGetStream"           ? reinterpret_cast<void*>(&get_stream)
                                                  : ::dlsym(handle, name);
}

class Scene {
  public:
    Scene() {
        g_set = symbol<abi::BackendSetAttributeFn>(m_libraries.cudnn, "cudnnBackendSetAttribute");
        g_finalize = symbol<abi::BackendDescriptorFn>(m_libraries.cudnn, "cudnnBackendFinalize");
        library.handle = m_libraries.cudnn;
        call.handle = this;  // nothing looks at it
        call.alpha = &m_one;
        call.beta = &m_zero;
        call.a_desc = m_descriptors.x;
        call.b_desc = m_descriptors.w;
        call.conv_desc = m_descriptors.convolution;
        call.c_desc = m_descriptors.y;
        call.a = address(1);
        call.b = address(2);
        call.c = address(3);
        call.algorithm = 1;
        tune::Library& known = *m_context.library(library);
        const auto key = cudnn::read_legacy_key(known.real, {call.a_desc, call.b_desc, call.conv_desc, call.c_desc},
                                                key::Direction::forward, 0, 0);
        if (!key) {
            throw std::runtime_error("the descriptors cannot be read");
        }
        const auto offer = service.offer(known, call.handle, *key, {}, {{1, abi::k_default_math}, {}, 0}, true);
        if (offer == nullptr) {
            throw std::runtime_error("there is no plan");
        }
        service.name(*offer);
    }

    // Far apart, as the tensors of a program are.
    static void* address(std::uintptr_t number) { return reinterpret_cast<void*>(number << 32); }

    ConvolutionCall call{};
    CudnnLibrary library{};

  private:
    Libraries m_libraries;
    Descriptors m_descriptors{m_libraries};
    const float m_one = 1;
    const float m_zero = 0;
    tune::Context m_context{Settings{}, &find_without_gpu};

  public:
    tune::UpgradeService service{m_context};
};

Scene& scene() {
    static Scene* const instance = new Scene;
    return *instance;
}

void run(benchmark::State& state, const ConvolutionCall& call, bool expected) {
    Scene& of = scene();
    abi::Status status = -1;
    for (auto _ : state) {
        if (of.service.convolve(of.library, call, &status) != expected) {
            state.SkipWithError("not as expected");
        }
    }
}

// Where the tensors lay before, as in a training loop.
void upgraded_call(benchmark::State& state) { run(state, scene().call, true); }
BENCHMARK(upgraded_call);

// A place that the plan has not seen lately.
void upgraded_call_elsewhere(benchmark::State& state) {
    Scene& of = scene();
    ConvolutionCall call = of.call;
    std::uintptr_t number = 0;
    abi::Status status = -1;
    for (auto _ : state) {
        call.c = Scene::address(4 + number++ % 64);
        if (!of.service.convolve(of.library, call, &status)) {
            state.SkipWithError("not as expected");
        }
    }
}
BENCHMARK(upgraded_call_elsewhere);

// Added to the real call.
void call_that_does_not_fit(benchmark::State& state) {
    ConvolutionCall call = scene().call;
    call.a = static_cast<const char*>(call.a) + 4;
    run(state, call, false);
}
BENCHMARK(call_that_does_not_fit);

void call_of_an_algorithm_that_nothing_named(benchmark::State& state) {
    ConvolutionCall call = scene().call;
    call.algorithm = 0;
    run(state, call, false);
}
BENCHMARK(call_of_an_algorithm_that_nothing_named);

}  // namespace
}  // namespace cudnn_tune
