// SPDX-License-Identifier: Apache-2.0
#include "support/sim_script.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "abi/backend.hpp"

namespace cudnn_tune::test {
namespace {

using nlohmann::json;

const char* name_of(sim::Direction direction) {
    static const char* const names[] = {"forward", "backward_data", "backward_filter"};
    return names[static_cast<int>(direction)];
}

const char* name_of(sim::Outcome outcome) {
    static const char* const names[] = {"success",       "not_initialized", "alloc_failed",    "bad_param",
                                        "not_supported", "internal_error",  "execution_failed"};
    return names[static_cast<int>(outcome)];
}

template <typename T>
void put(json& object, const char* name, const std::optional<T>& value) {
    if (value) {
        object[name] = *value;
    }
}

void put(json& object, const char* name, const std::optional<sim::Outcome>& value) {
    if (value) {
        object[name] = name_of(*value);
    }
}

void put(json& object, const char* name, const std::vector<std::int64_t>& value) {
    if (!value.empty()) {
        object[name] = value;
    }
}

json knobs_json(const std::map<int, std::int64_t>& knobs) {
    json object = json::object();
    for (const auto& [type, value] : knobs) {
        object[std::to_string(type)] = value;
    }
    return object;
}

json device_json(const sim::Device& device) {
    json object{{"name", device.name},
                {"cc", {device.cc_major, device.cc_minor}},
                {"sm_count", device.sm_count},
                {"total_memory_bytes", device.total_memory_bytes},
                {"l2_bytes", device.l2_bytes}};
    if (!device.uuid_hex.empty()) {
        object["uuid"] = device.uuid_hex;
    }
    return object;
}

json rule_json(const sim::Rule& rule) {
    json object = json::object();
    if (rule.direction) {
        object["direction"] = name_of(*rule.direction);
    }
    put(object, "algorithm", rule.algorithm);
    put(object, "math_type", rule.math_type);
    put(object, "data_type", rule.data_type);
    put(object, "groups", rule.groups);
    put(object, "min_macs", rule.min_macs);
    put(object, "max_macs", rule.max_macs);
    put(object, "x_dims", rule.x_dims);
    put(object, "w_dims", rule.w_dims);
    put(object, "engine", rule.engine);
    if (!rule.knobs.empty()) {
        object["knobs"] = knobs_json(rule.knobs);
    }
    put(object, "time_us", rule.time_us);
    put(object, "time_factor", rule.time_factor);
    put(object, "jitter", rule.jitter);
    put(object, "workspace_bytes", rule.workspace_bytes);
    put(object, "listed_workspace_bytes", rule.listed_workspace_bytes);
    put(object, "status", rule.status);
    put(object, "launch_status", rule.launch_status);
    put(object, "determinism", rule.determinism);
    put(object, "writes_wrong", rule.writes_wrong);
    put(object, "writes_nan", rule.writes_nan);
    put(object, "writes_outside", rule.writes_outside);
    put(object, "output_factor", rule.output_factor);
    put(object, "kills", rule.kills);
    put(object, "kill_signal", rule.kill_signal);
    put(object, "sticky", rule.sticky);
    put(object, "plan_build_us", rule.plan_build_us);
    put(object, "plan_status", rule.plan_status);
    put(object, "numerical_notes", rule.numerical_notes);
    put(object, "behavior_notes", rule.behavior_notes);
    return object;
}

json order_json(const std::vector<sim::HeuristicChoice>& order) {
    json array = json::array();
    for (const sim::HeuristicChoice& choice : order) {
        array.push_back(choice.math_type ? json::array({choice.algorithm, *choice.math_type}) : json(choice.algorithm));
    }
    return array;
}

json graph_list_json(const std::vector<sim::GraphChoice>& list) {
    json array = json::array();
    for (const sim::GraphChoice& choice : list) {
        array.push_back({{"engine", choice.engine}, {"knobs", knobs_json(choice.knobs)}});
    }
    return array;
}

SimCall parse_call(const json& object) {
    SimCall call;
    const auto get = [&](const char* name, auto& target) {
        auto it = object.find(name);
        if (it != object.end()) {
            target = it->get<std::remove_reference_t<decltype(target)>>();
        }
    };
    const auto get_optional = [&](const char* name, std::optional<int>& target) {
        auto it = object.find(name);
        if (it != object.end()) {
            target = it->get<int>();
        }
    };
    get("function", call.function);
    get("pid", call.pid);
    get("tid", call.tid);
    get_optional("status", call.status);
    get_optional("outcome", call.outcome);
    get("inside", call.inside);
    get("library", call.library);
    get("caller", call.caller);
    get("direction", call.direction);
    get("by", call.by);
    get("input", call.input);
    get("knobs", call.knobs);
    get("algorithm", call.algorithm);
    get("math_type", call.math_type);
    get("engine", call.engine);
    get("requested", call.requested);
    get("returned", call.returned);
    get("stream", call.stream);
    get("mode", call.mode);
    get("descriptor", call.descriptor);
    get("attribute", call.attribute);
    get("stream_handle", call.stream_handle);
    get("pointer", call.pointer);
    get("bytes", call.bytes);
    get("workspace", call.workspace);
    get("workspace_bytes", call.workspace_bytes);
    get("output", call.output);
    get("output_bytes", call.output_bytes);
    get("time_us", call.time_us);
    get("captured", call.captured);
    return call;
}

}  // namespace

std::string to_json(const sim::Script& script) {
    json object = json::object();
    object["devices"] = json::array();
    for (const sim::Device& device : script.devices) {
        object["devices"].push_back(device_json(device));
    }
    object["driver_version"] = script.driver_version;
    put(object, "cudnn_version", script.cudnn_version);
    put(object, "cudnn_version_second", script.cudnn_version_second);
    put(object, "cudart_version", script.cudart_version);
    object["seed"] = script.seed;
    object["jitter"] = script.jitter;
    object["launch_overhead_us"] = script.launch_overhead_us;
    object["rules"] = json::array();
    for (const sim::Rule& rule : script.rules) {
        object["rules"].push_back(rule_json(rule));
    }
    for (const auto& [direction, order] : script.heuristic_order) {
        object["heuristic_order"][name_of(direction)] = order_json(order);
    }
    for (const auto& [mode, list] : script.graph_lists) {
        object["graph_lists"][mode] = graph_list_json(list);
    }
    object["reserved_memory_bytes"] = script.reserved_memory_bytes;
    object["refused_allocations"] = script.refused_allocations;
    put(object, "refuse_over_bytes", script.refuse_over_bytes);
    object["capturing_streams"] = script.all_streams_capture ? json("all") : json(script.capturing_streams);
    put(object, "sticky_after_launches", script.sticky_after_launches);
    return object.dump(2) + "\n";
}

void write_sim_script(const std::filesystem::path& path, const sim::Script& script) {
    std::ofstream(path) << to_json(script);
}

std::vector<SimCall> read_sim_log(const std::filesystem::path& path) {
    std::vector<SimCall> calls;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        calls.push_back(parse_call(json::parse(line)));
    }
    return calls;
}

std::vector<SimCall> calls_of(const std::vector<SimCall>& log, std::string_view function) {
    std::vector<SimCall> found;
    for (const SimCall& call : log) {
        if (call.function == function) {
            found.push_back(call);
        }
    }
    return found;
}

std::size_t count_lists(const std::vector<SimCall>& log, int mode) {
    return static_cast<std::size_t>(std::ranges::count_if(log, [&](const SimCall& call) {
        return call.function == "cudnnBackendFinalize" && call.descriptor == abi::k_engineheur_descriptor &&
               call.mode == mode;
    }));
}

std::uint64_t leaked_bytes(const std::vector<SimCall>& log) {
    std::map<std::pair<std::int64_t, std::uint64_t>, std::uint64_t> live;
    for (const SimCall& call : log) {
        if (call.status != 0) {
            continue;
        }
        if (call.function == "cuMemAlloc_v2") {
            live[{call.pid, call.pointer}] = call.bytes;
        } else if (call.function == "cuMemFree_v2") {
            live.erase({call.pid, call.pointer});
        }
    }
    std::uint64_t bytes = 0;
    for (const auto& [pointer, size] : live) {
        bytes += size;
    }
    return bytes;
}

}  // namespace cudnn_tune::test
