// SPDX-License-Identifier: Apache-2.0
#include "common/script.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace cudnn_tune::sim {
namespace {

using nlohmann::json;

const std::map<std::string, Direction>& directions() {
    static const auto& names = *new std::map<std::string, Direction>{{"forward", Direction::forward},
                                                                     {"backward_data", Direction::backward_data},
                                                                     {"backward_filter", Direction::backward_filter}};
    return names;
}

Outcome parse_outcome(const std::string& text) {
    static const auto& names = *new std::map<std::string, Outcome>{{"success", Outcome::success},
                                                                   {"not_initialized", Outcome::not_initialized},
                                                                   {"alloc_failed", Outcome::alloc_failed},
                                                                   {"bad_param", Outcome::bad_param},
                                                                   {"not_supported", Outcome::not_supported},
                                                                   {"internal_error", Outcome::internal_error},
                                                                   {"execution_failed", Outcome::execution_failed}};
    return names.at(text);
}

// Takes members out of an object; finish() then refuses those that nobody asked for, so that a misspelt member of a
// script is an error and not a test that tests nothing.
class Members {
  public:
    Members(const json& object, std::string where) : m_object(object), m_where(std::move(where)) {
        if (!object.is_object()) {
            throw std::runtime_error(m_where + " is not an object");
        }
    }

    const json* find(const char* name) {
        auto it = m_object.find(name);
        if (it == m_object.end()) {
            return nullptr;
        }
        m_used.push_back(name);
        return &*it;
    }

    template <typename T, typename Target>
    void get(const char* name, Target& target) {
        if (const json* value = find(name)) {
            target = value->get<T>();
        }
    }

    void get_outcome(const char* name, std::optional<Outcome>& target) {
        if (const json* value = find(name)) {
            target = parse_outcome(value->get<std::string>());
        }
    }

    void finish() const {
        for (const auto& [name, value] : m_object.items()) {
            if (std::find(m_used.begin(), m_used.end(), name) == m_used.end()) {
                throw std::runtime_error(m_where + " has an unknown member \"" + name + "\"");
            }
        }
    }

  private:
    const json& m_object;
    std::string m_where;
    std::vector<std::string> m_used;
};

std::map<int, std::int64_t> parse_knobs(const json& object) {
    std::map<int, std::int64_t> knobs;
    for (const auto& [type, value] : object.items()) {
        knobs[std::stoi(type)] = value.get<std::int64_t>();
    }
    return knobs;
}

Device parse_device(const json& object) {
    Device device;
    Members members(object, "a device");
    members.get<std::string>("name", device.name);
    if (const json* cc = members.find("cc")) {
        device.cc_major = cc->at(0).get<int>();
        device.cc_minor = cc->at(1).get<int>();
    }
    members.get<int>("sm_count", device.sm_count);
    members.get<std::uint64_t>("total_memory_bytes", device.total_memory_bytes);
    members.get<int>("l2_bytes", device.l2_bytes);
    members.get<std::string>("uuid", device.uuid_hex);
    members.finish();
    return device;
}

Rule parse_rule(const json& object) {
    Rule rule;
    Members members(object, "a rule");
    if (const json* direction = members.find("direction")) {
        rule.direction = directions().at(direction->get<std::string>());
    }
    members.get<int>("algorithm", rule.algorithm);
    members.get<int>("math_type", rule.math_type);
    members.get<int>("data_type", rule.data_type);
    members.get<int>("groups", rule.groups);
    members.get<double>("min_macs", rule.min_macs);
    members.get<double>("max_macs", rule.max_macs);
    members.get<std::vector<std::int64_t>>("x_dims", rule.x_dims);
    members.get<std::vector<std::int64_t>>("w_dims", rule.w_dims);
    members.get<int>("engine", rule.engine);
    if (const json* knobs = members.find("knobs")) {
        rule.knobs = parse_knobs(*knobs);
    }
    members.get<double>("time_us", rule.time_us);
    members.get<double>("time_factor", rule.time_factor);
    members.get<double>("jitter", rule.jitter);
    members.get<std::uint64_t>("workspace_bytes", rule.workspace_bytes);
    members.get<std::uint64_t>("listed_workspace_bytes", rule.listed_workspace_bytes);
    members.get_outcome("status", rule.status);
    members.get_outcome("launch_status", rule.launch_status);
    members.get<int>("determinism", rule.determinism);
    members.get<bool>("writes_wrong", rule.writes_wrong);
    members.get<bool>("writes_nan", rule.writes_nan);
    members.get<bool>("writes_outside", rule.writes_outside);
    members.get<double>("output_factor", rule.output_factor);
    members.get<bool>("kills", rule.kills);
    members.get<int>("kill_signal", rule.kill_signal);
    members.get<bool>("sticky", rule.sticky);
    members.get<double>("plan_build_us", rule.plan_build_us);
    members.get_outcome("plan_status", rule.plan_status);
    members.get<std::vector<int>>("numerical_notes", rule.numerical_notes);
    members.get<std::vector<int>>("behavior_notes", rule.behavior_notes);
    members.finish();
    return rule;
}

// A number is an algorithm with the first math type that fits; [algorithm, math type] names both.
std::vector<HeuristicChoice> parse_order(const json& array) {
    std::vector<HeuristicChoice> order;
    for (const json& item : array) {
        if (item.is_array()) {
            order.push_back({item.at(0).get<int>(), item.at(1).get<int>()});
        } else {
            order.push_back({item.get<int>(), std::nullopt});
        }
    }
    return order;
}

void parse_capturing(const json& value, Script& script) {
    if (value.is_string()) {
        if (value.get<std::string>() != "all") {
            throw std::runtime_error("capturing_streams is neither \"all\" nor a list of stream numbers");
        }
        script.all_streams_capture = true;
    } else {
        script.capturing_streams = value.get<std::vector<int>>();
    }
}

Script parse_script(const json& object) {
    Script script;
    Members members(object, "the script");
    if (const json* devices = members.find("devices")) {
        script.devices.clear();
        for (const json& device : *devices) {
            script.devices.push_back(parse_device(device));
        }
    }
    members.get<int>("driver_version", script.driver_version);
    members.get<int>("cudnn_version", script.cudnn_version);
    members.get<int>("cudnn_version_second", script.cudnn_version_second);
    members.get<int>("cudart_version", script.cudart_version);
    members.get<std::uint64_t>("seed", script.seed);
    members.get<double>("jitter", script.jitter);
    members.get<double>("launch_overhead_us", script.launch_overhead_us);
    if (const json* rules = members.find("rules")) {
        for (const json& rule : *rules) {
            script.rules.push_back(parse_rule(rule));
        }
    }
    if (const json* orders = members.find("heuristic_order")) {
        for (const auto& [direction, order] : orders->items()) {
            script.heuristic_order[directions().at(direction)] = parse_order(order);
        }
    }
    if (const json* lists = members.find("graph_lists")) {
        for (const auto& [mode, list] : lists->items()) {
            auto& choices = script.graph_lists[mode];  // an empty list is one, too
            for (const json& choice : list) {
                choices.push_back({choice.at("engine").get<int>(), choice.contains("knobs")
                                                                       ? parse_knobs(choice["knobs"])
                                                                       : std::map<int, std::int64_t>{}});
            }
        }
    }
    members.get<std::uint64_t>("reserved_memory_bytes", script.reserved_memory_bytes);
    members.get<std::vector<std::uint64_t>>("refused_allocations", script.refused_allocations);
    members.get<std::uint64_t>("refuse_over_bytes", script.refuse_over_bytes);
    if (const json* capturing = members.find("capturing_streams")) {
        parse_capturing(*capturing, script);
    }
    members.get<std::uint64_t>("sticky_after_launches", script.sticky_after_launches);
    members.finish();
    return script;
}

Script read_script(const std::string& path) {
    try {
        std::ifstream file(path);
        if (!file) {
            throw std::runtime_error("it cannot be opened");
        }
        return parse_script(json::parse(file));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "simulated GPU: script %s: %s\n", path.c_str(), error.what());
        std::_Exit(99);
    }
}

}  // namespace

const char* direction_name(Direction direction) {
    static const char* const names[] = {"forward", "backward_data", "backward_filter"};
    return names[static_cast<int>(direction)];
}

const Script& script() {
    static std::mutex& mutex = *new std::mutex;
    // Never destroyed: calls may come while the process exits.
    static auto& scripts = *new std::map<std::string, std::unique_ptr<const Script>>;
    const char* variable = std::getenv("CUDNN_TUNE_SIM_SCRIPT");
    const std::string path = variable == nullptr ? "" : variable;
    std::lock_guard lock(mutex);
    std::unique_ptr<const Script>& entry = scripts[path];
    if (!entry) {
        entry = std::make_unique<const Script>(path.empty() ? Script{} : read_script(path));
    }
    return *entry;
}

}  // namespace cudnn_tune::sim
