// SPDX-License-Identifier: Apache-2.0
// What a hit of the legacy API costs, with descriptors of a cuDNN library: the real one where CUDNN_TUNE_BENCH_CUDNN
// names it, else the simulated one. The driver is the simulated one, so that no GPU is needed; all that a hit asks of
// it is the current device.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "abi/cudnn.hpp"
#include "cache/cache_table.hpp"
#include "libraries.hpp"
#include "tune/context.hpp"
#include "tune/legacy_question.hpp"
#include "tune/legacy_service.hpp"

namespace cudnn_tune {
namespace {

// The cached entry says 1 MiB for every algorithm. A question's first answer compares that with the library, whose real
// query needs a GPU.
abi::Status one_mebibyte(abi::Handle, const void*, const void*, const void*, const void*, int, std::size_t* bytes) {
    *bytes = std::size_t{1} << 20;
    return abi::k_success;
}

void* find_symbol_for_benchmark(void* handle, const char* name) {
    return std::string_view(name).ends_with("WorkspaceSize") ? reinterpret_cast<void*>(&one_mebibyte)
                                                             : ::dlsym(handle, name);
}

// One 3x3 convolution with a cached answer of 8 algorithms.
class Scene {
  public:
    Scene() {
        call.kind = LegacyQuestionKind::get_v7;
        call.handle = this;  // a hit does not look at it
        call.a_desc = m_descriptors.x;
        call.b_desc = m_descriptors.w;
        call.conv_desc = m_descriptors.convolution;
        call.c_desc = m_descriptors.y;
        call.requested = static_cast<int>(results.size());
        call.returned = &returned;
        call.results = results.data();
        library.handle = m_libraries.cudnn;

        m_path = std::filesystem::temp_directory_path() / ("cudnn-tune-micro-" + std::to_string(::getpid()) + ".jsonl");
        Settings settings;
        settings.cache_path = m_path;
        settings.mode = Mode::read;
        publish_answer();
        m_context = std::make_unique<tune::Context>(settings, &find_symbol_for_benchmark);
        m_upgrades = std::make_unique<tune::UpgradeService>(*m_context);
        service = std::make_unique<tune::LegacyService>(*m_context, *m_upgrades);
        abi::Status status = -1;
        if (!service->select(library, call, &status)) {
            throw std::runtime_error("the prepared entry is not served: " + m_context->statistics().summary());
        }
    }
    ~Scene() { std::filesystem::remove(m_path); }

    LegacyCall call{};
    CudnnLibrary library{};
    std::array<abi::AlgoPerf, 8> results{};
    int returned = 0;
    std::unique_ptr<tune::LegacyService> service;
    cudnn::RealCudnn real;

  private:
    void publish_answer() {
        real = cudnn::RealCudnn::of(m_libraries.cudnn, &find_symbol_for_benchmark);
        const auto legacy_key = cudnn::read_legacy_key(real, tune::descriptors_of(call), key::Direction::forward, 0, 0);
        if (!legacy_key) {
            throw std::runtime_error("the descriptors cannot be read");
        }
        Settings settings;
        settings.cache_path = m_path;
        tune::Context context(settings, &find_symbol_for_benchmark);
        cache::Record record;
        record.key = {key::to_text(cudnn::problem_of(*legacy_key)),
                      key::to_text(key::ApiPart(cudnn::api_part_of(*legacy_key))),
                      *context.environment(*context.library(library), 0)};
        for (int algorithm = 0; algorithm < 8; ++algorithm) {
            key::Candidate& candidate = record.candidates.emplace_back();
            candidate.choice = key::LegacyChoice{algorithm, abi::k_default_math};
            candidate.rank = algorithm;
            candidate.workspace_bytes = 1 << 20;
            candidate.time_ns = 100'000 + algorithm;
            candidate.samples = 5;
        }
        record.heuristic = 0;
        record.by = "benchmark";
        cache::CacheOptions options;
        options.path = m_path;
        auto cache = cache::Cache::open(options);
        if (!cache || !(*cache)->publish(record)) {
            throw std::runtime_error("the entry cannot be written to " + m_path);
        }
    }

    Libraries m_libraries;
    Descriptors m_descriptors{m_libraries};
    std::string m_path;
    std::unique_ptr<tune::Context> m_context;
    std::unique_ptr<tune::UpgradeService> m_upgrades;
};

Scene& scene() {
    static Scene* const instance = new Scene;
    return *instance;
}

void legacy_hit(benchmark::State& state) {
    Scene& of = scene();
    for (auto _ : state) {
        abi::Status status = -1;
        if (!of.service->select(of.library, of.call, &status)) {
            state.SkipWithError("not a hit");
        }
        benchmark::DoNotOptimize(of.results);
    }
}
BENCHMARK(legacy_hit);

// The part of a hit that is spent in cuDNN's own getters.
void legacy_key(benchmark::State& state) {
    Scene& of = scene();
    for (auto _ : state) {
        auto key = cudnn::read_legacy_key(of.real, tune::descriptors_of(of.call), key::Direction::forward, 0, 0);
        benchmark::DoNotOptimize(key);
    }
}
BENCHMARK(legacy_key);

// What a miss adds before anything is looked up.
void key_text_and_digest(benchmark::State& state) {
    Scene& of = scene();
    const auto key = cudnn::read_legacy_key(of.real, tune::descriptors_of(of.call), key::Direction::forward, 0, 0);
    for (auto _ : state) {
        const key::KeyText text{key::to_text(cudnn::problem_of(*key)),
                                key::to_text(key::ApiPart(cudnn::api_part_of(*key))), "cudnn=0"};
        benchmark::DoNotOptimize(text.digest());
    }
}
BENCHMARK(key_text_and_digest);

}  // namespace
}  // namespace cudnn_tune
