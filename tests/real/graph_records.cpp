// SPDX-License-Identifier: Apache-2.0
#include "graph_records.hpp"

#include <fstream>

#include "cache/record_codec.hpp"
#include "cudnn/graph_configurations.hpp"
#include "cudnn/graph_problem.hpp"
#include "cudnn/graph_recorder.hpp"
#include "key/problem_text.hpp"
#include "select/preference.hpp"
#include "tune/device.hpp"

namespace cudnn_tune::test {
namespace {

// What the hooks do for a program: each successful call is told to the recorder. One thread.
cudnn::GraphRecorder* g_recorder = nullptr;
const BackendApi* g_api = nullptr;

abi::Status recorded_create(int type, abi::BackendDescriptor* descriptor) {
    const abi::Status status = g_api->create(type, descriptor);
    if (status == abi::k_success) {
        g_recorder->created(type, *descriptor);
    }
    return status;
}

abi::Status recorded_destroy(abi::BackendDescriptor descriptor) {
    const abi::Status status = g_api->destroy(descriptor);
    if (status == abi::k_success) {
        g_recorder->destroyed(descriptor);
    }
    return status;
}

abi::Status recorded_initialize(abi::BackendDescriptor descriptor) {
    const abi::Status status = g_api->initialize(descriptor);
    if (status == abi::k_success) {
        g_recorder->initialized(descriptor);
    }
    return status;
}

abi::Status recorded_set(abi::BackendDescriptor descriptor, int name, int type, std::int64_t count,
                         const void* elements) {
    const abi::Status status = g_api->set(descriptor, name, type, count, elements);
    if (status == abi::k_success) {
        g_recorder->attribute_set(descriptor, name, type, count, elements);
    }
    return status;
}

BackendApi recorded(const BackendApi& api) {
    BackendApi result = api;
    result.create = recorded_create;
    result.destroy = recorded_destroy;
    result.initialize = recorded_initialize;
    result.set = recorded_set;
    return result;
}

std::optional<key::KeyText> key_of(const RealLibrary& library, const ConvolutionShape& shape,
                                   const key::Environment& environment) {
    cudnn::GraphRecorder recorder;
    g_recorder = &recorder;
    g_api = &*library.api;
    const BackendApi api = recorded(*library.api);
    const Descriptor device = build_device_properties(api, library.device_json);
    const Descriptor graph = build_graph(api, shape);
    const Descriptor heuristics = build_heuristics(api, graph, {abi::k_mode_instant, &device, -1});
    if (!heuristics.ok()) {
        return std::nullopt;
    }
    const auto snapshot = recorder.snapshot(heuristics.get());
    const auto problem = snapshot != nullptr ? cudnn::read_graph_problem(*snapshot) : std::nullopt;
    if (!problem) {
        ADD_FAILURE() << shape.id << " is not understood";
        return std::nullopt;
    }
    return key::KeyText{key::to_text(problem->problem), key::to_text(key::ApiPart(problem->part)),
                        key::to_text(environment)};
}

}  // namespace

key::Environment environment_of(const RealLibrary& library) {
    const auto environment =
        tune::environment_of_json(library.device_json, library.real.version, library.real.cudart_major);
    EXPECT_TRUE(environment.has_value());
    return environment.value_or(key::Environment{});
}

std::optional<cache::Record> make_record(const RealLibrary& library, const ConvolutionShape& shape,
                                         const key::Environment& environment, std::size_t preferred) {
    const auto key = key_of(library, shape, environment);
    const Descriptor graph = build_graph(*library.api, shape);
    if (!key || !graph.ok()) {
        return std::nullopt;
    }
    cache::Record record;
    record.key = *key;
    record.when = "2026-01-01T00:00:00Z";
    record.by = "cudnn-tune test";
    const cudnn::GraphTarget target{graph.get(), library.device_properties.get(), -1};
    key::Choice fastest;
    for (const int mode : {abi::k_mode_instant, abi::k_mode_b, abi::k_mode_fallback}) {
        auto list = cudnn::list_configurations(library.real, target, mode);
        if (mode == abi::k_mode_instant) {
            if (list.empty()) {
                return std::nullopt;
            }
            fastest = list[preferred % list.size()].choice;
        }
        for (key::Candidate& candidate : list) {
            // A choice that several lists hold was measured once.
            candidate.time_ns = candidate.choice == fastest ? 1'000 : 100'000 + 10'000 * candidate.rank;
            candidate.spread_ns = 1;
            candidate.samples = 9;
            candidate.build_ns = 1'000;
            record.candidates.push_back(std::move(candidate));
        }
    }
    select::sort_by_preference(record);
    return record;
}

void write_cache(const std::string& path, const std::vector<cache::Record>& records) {
    std::ofstream file(path, std::ios::trunc);
    file << cache::k_header_line << '\n';
    for (const cache::Record& record : records) {
        const auto line = cache::encode_record(record);
        ASSERT_TRUE(line) << line.error().message;
        file << *line << '\n';
    }
    ASSERT_TRUE(file.flush().good()) << path;
}

Configuration plain(const key::Candidate& candidate) {
    const auto& choice = std::get<key::GraphChoice>(candidate.choice);
    Configuration configuration;
    configuration.engine = choice.engine;
    configuration.knobs = choice.knobs;
    configuration.workspace_bytes = candidate.workspace_bytes;
    for (int note = 0; note < 32; ++note) {
        if ((candidate.numerical_notes >> note & 1U) != 0) {
            configuration.numerical_notes.push_back(note);
        }
        if ((candidate.behavior_notes >> note & 1U) != 0) {
            configuration.behavior_notes.push_back(note);
        }
    }
    return configuration;
}

}  // namespace cudnn_tune::test
