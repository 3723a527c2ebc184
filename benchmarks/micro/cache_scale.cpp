// SPDX-License-Identifier: Apache-2.0
// How opening, looking up and appending grow with the number of records in a cache file. The records are as an
// exhaustive tuning writes them, with 30 to 45 candidates. Ratios compare with the smallest file, which has no index:
// opening should grow much less than the file does, the others not at all. "adds_MB" is what an open cache adds to the
// process.
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>

#include "cache/cache_table.hpp"
#include "cache/record_codec.hpp"

namespace cudnn_tune::cache {
namespace {

constexpr std::int64_t k_smallest = 1000;
constexpr std::int64_t k_largest = 100'000;

key::KeyText key_of(std::int64_t number) {
    const std::string channels = std::to_string(number + 1);
    return {"fwd x=f16[32," + channels + ",56,56]:nhwc w=f16[64," + channels +
                ",3,3]:nhwc y=f16[32,64,56,56]:nhwc:virtual pad=1,1 stride=1,1 dil=1,1 groups=1 mode=xcorr compute=f32",
            "graph align=16,16,16 alpha=1:f64 beta=0:f64 sm=unset",
            "cudnn=91900 cudart=13 cc=9.0 sm=132 tf32=unset gpu=NVIDIA H200"};
}

Record record_of(std::int64_t number) {
    Record record;
    record.key = key_of(number);
    const std::int64_t count = 30 + number % 16;
    for (std::int64_t i = 0; i < count; ++i) {
        Candidate& candidate = record.candidates.emplace_back();
        candidate.choice = GraphChoice{10 + i, {{2, i % 5}, {26, i % 3}, {13, 1}, {5, i % 7}}};
        candidate.rank = static_cast<int>(i);
        candidate.workspace_bytes = (i % 4) << 20;
        candidate.time_ns = 80'000 + i * 917;
        candidate.spread_ns = 300 + i;
        candidate.samples = 11;
        candidate.build_ns = 15'000'000 + i * 1000;
        candidate.numerical_notes = 1;
        candidate.mode = static_cast<int>(i % 3);
    }
    record.heuristic = 0;
    record.tuning_ns = 900'000'000;
    record.when = "2026-11-29T12:00:00Z";
    record.by = "benchmark";
    return record;
}

// One file of each size, made when first needed and removed at the end.
class Files {
  public:
    ~Files() {
        for (const auto& [count, path] : m_paths) {
            std::error_code ignored;
            std::filesystem::remove(path, ignored);
            std::filesystem::remove(path + ".lock", ignored);
            std::filesystem::remove(path + ".index", ignored);
        }
    }
    const std::string& of(std::int64_t count) {
        std::string& path = m_paths[count];
        if (path.empty()) {
            path = (std::filesystem::temp_directory_path() /
                    ("cudnn-tune-scale-" + std::to_string(::getpid()) + "-" + std::to_string(count) + ".jsonl"))
                       .string();
            std::ofstream file(path, std::ios::binary);
            file << k_header_line << '\n';
            for (std::int64_t i = 0; i < count; ++i) {
                file << *encode_record(record_of(i)) << '\n';
            }
            file.flush();
            if (!file) {
                throw std::runtime_error("cannot write " + path);
            }
        }
        return path;
    }

  private:
    std::map<std::int64_t, std::string> m_paths;
};

Files& files() {
    static Files instance;
    return instance;
}

std::unique_ptr<Cache> open(std::int64_t count) {
    CacheOptions options;
    options.path = files().of(count);
    auto cache = Cache::open(options);
    if (!cache) {
        throw std::runtime_error(cache.error().message);
    }
    return std::move(*cache);
}

double resident_mb() {
    long pages = 0;
    long resident = 0;
    if (std::FILE* const file = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(file, "%ld %ld", &pages, &resident) != 2) {
            resident = 0;
        }
        std::fclose(file);
    }
    return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1e6;
}

// Times the loop itself, for the ratio to the smallest file.
class Ratio {
  public:
    Ratio(benchmark::State& state, const char* name) : m_state(state), m_name(name) {}
    ~Ratio() {
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - m_start;
        const double each_s = took.count() / static_cast<double>(m_state.iterations());
        static std::map<std::string, double> smallest;
        if (m_state.range(0) == k_smallest) {
            smallest[m_name] = each_s;
        }
        m_state.counters["to_smallest"] = smallest[m_name] > 0 ? each_s / smallest[m_name] : 0;
    }
    Ratio(const Ratio&) = delete;
    Ratio& operator=(const Ratio&) = delete;

  private:
    benchmark::State& m_state;
    const char* m_name;
    std::chrono::steady_clock::time_point m_start = std::chrono::steady_clock::now();
};

// The first time, and after somebody has replaced the file: it is read through, and its index written.
void cache_open_without_index(benchmark::State& state) {
    const std::string& path = files().of(state.range(0));
    for (auto _ : state) {
        state.PauseTiming();
        std::filesystem::remove(path + ".index");
        state.ResumeTiming();
        benchmark::DoNotOptimize(open(state.range(0)));
    }
}
BENCHMARK(cache_open_without_index)->Arg(k_smallest)->Arg(10'000)->Arg(k_largest)->Unit(benchmark::kMillisecond);

void cache_open(benchmark::State& state) {
    (void)open(state.range(0));  // which leaves the file in the page cache, and an index of a large one
    ::malloc_trim(0);
    const double before_mb = resident_mb();
    {
        const auto cache = open(state.range(0));
        state.counters["adds_MB"] = resident_mb() - before_mb;
    }
    state.counters["file_MB"] = static_cast<double>(std::filesystem::file_size(files().of(state.range(0)))) / 1e6;
    const Ratio ratio(state, "open");
    for (auto _ : state) {
        benchmark::DoNotOptimize(open(state.range(0)));
    }
}
BENCHMARK(cache_open)->Arg(k_smallest)->Arg(10'000)->Arg(k_largest)->Unit(benchmark::kMillisecond);

void cache_find(benchmark::State& state) {
    const auto cache = open(state.range(0));
    std::vector<std::pair<key::KeyText, Digest>> keys;
    for (std::int64_t i = 0; i < 64; ++i) {
        const key::KeyText key = key_of(i * 7919 % state.range(0));
        keys.emplace_back(key, key.digest());
    }
    std::size_t next = 0;
    const Ratio ratio(state, "find");
    for (auto _ : state) {
        const auto& [key, digest] = keys[next++ % keys.size()];
        if (cache->find(key, digest) == nullptr) {
            state.SkipWithError("not found");
        }
    }
}
BENCHMARK(cache_find)->Arg(k_smallest)->Arg(10'000)->Arg(k_largest)->Unit(benchmark::kMicrosecond);

void cache_find_nothing(benchmark::State& state) {
    const auto cache = open(state.range(0));
    const key::KeyText key = key_of(-2);
    const Digest digest = key.digest();
    const Ratio ratio(state, "find_nothing");
    for (auto _ : state) {
        benchmark::DoNotOptimize(cache->find(key, digest));
    }
}
BENCHMARK(cache_find_nothing)->Arg(k_smallest)->Arg(10'000)->Arg(k_largest)->Unit(benchmark::kNanosecond);

// Lock, look at what others appended, append, read back.
void cache_append(benchmark::State& state) {
    const auto cache = open(state.range(0));
    static std::int64_t number = 10'000'000;
    const Ratio ratio(state, "append");
    for (auto _ : state) {
        if (!cache->publish(record_of(++number))) {
            state.SkipWithError("not stored");
        }
    }
}
BENCHMARK(cache_append)->Arg(k_smallest)->Arg(10'000)->Arg(k_largest)->Unit(benchmark::kMicrosecond)->Iterations(300);

}  // namespace
}  // namespace cudnn_tune::cache
