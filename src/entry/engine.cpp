// SPDX-License-Identifier: Apache-2.0
// The engine's C entry point and the functions that the shim calls. Each catches everything: an exception that leaves
// here would end the program. Trouble means "not answered", and the shim makes the real call.
#include <grp.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "compile/compile_cache.hpp"
#include "cudnn_tune/cudnn_tune.h"
#include "cudnn_tune/version.h"
#include "entry/engine_api.h"
#include "entry/statistics_flush.hpp"
#include "tune/context.hpp"
#include "tune/graph_service.hpp"
#include "tune/legacy_service.hpp"
#include "tune/upgrade_service.hpp"
#include "util/clock.hpp"
#include "util/file_system.hpp"
#include "util/log.hpp"
#include "util/settings.hpp"

namespace cudnn_tune {
namespace {

// Nobody, if there is no such group: said once.
std::optional<std::uint32_t> group_number(const std::string& group) {
    if (group.empty()) {
        return std::nullopt;
    }
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(group.data(), group.data() + group.size(), number);
    if (error == std::errc() && end == group.data() + group.size()) {
        return number;
    }
    std::array<char, 16384> buffer{};
    ::group entry{};
    ::group* found = nullptr;
    if (::getgrnam_r(group.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
        warn_once("trusted_group", "the policy trusts the group " + group + ", which does not exist here");
        return std::nullopt;
    }
    return found->gr_gid;
}

compile::CompileOptions compile_options_of(const tune::Context& context) {
    compile::CompileOptions options = compile::compile_options(context.settings());
    options.store.trust.group = group_number(context.policy().trusted_group);
    return options;
}

struct Engine {
    tune::Context context;
    tune::UpgradeService upgrade;
    tune::LegacyService legacy;
    tune::GraphService graph;
    compile::CompileCache compile;
    StatisticsFlush statistics;

    Engine(Settings settings, FindSymbolFn find)
        : context(std::move(settings), find),
          upgrade(context),
          legacy(context, upgrade),
          graph(context),
          compile(context.settings(), compile_options_of(context), find, posix_file_system(), system_clock()),
          statistics(context, compile) {}
};

// Set once before the shim gets the functions below; never destroyed.
Engine* g_engine = nullptr;

template <typename Body>
bool answered(Body body) noexcept {
    try {
        return body();
    } catch (...) {
        return false;
    }
}

template <typename Body>
void told(Body body) noexcept {
    try {
        body();
    } catch (...) {
        // What could not be recorded is not understood later, and passes through.
    }
}

bool select_legacy(const CudnnLibrary* library, const LegacyCall* call, abi::Status* status) {
    const bool is_answered = answered([&] { return g_engine->legacy.select(*library, *call, status); });
    told([] { g_engine->statistics.after_question(); });
    return is_answered;
}

bool workspace_size(const CudnnLibrary* library, const WorkspaceCall* call, abi::Status* status) {
    return answered([&] { return g_engine->upgrade.workspace_size(*library, *call, status); });
}

bool convolve(const CudnnLibrary* library, const ConvolutionCall* call, abi::Status* status) {
    return answered([&] { return g_engine->upgrade.convolve(*library, *call, status); });
}

bool convolve_fused(const CudnnLibrary* library, const FusedCall* call, abi::Status* status) {
    return answered([&] { return g_engine->upgrade.convolve_fused(*library, *call, status); });
}

void backend_created(const CudnnLibrary*, int type, abi::BackendDescriptor descriptor) {
    told([&] { g_engine->graph.recorder().created(type, descriptor); });
}

void backend_initialized(const CudnnLibrary*, abi::BackendDescriptor descriptor) {
    told([&] { g_engine->graph.recorder().initialized(descriptor); });
}

void backend_destroyed(const CudnnLibrary*, abi::BackendDescriptor descriptor) {
    told([&] { g_engine->graph.recorder().destroyed(descriptor); });
}

void backend_attribute_set(const CudnnLibrary*, abi::BackendDescriptor descriptor, int name, int type,
                           std::int64_t count, const void* elements) {
    told([&] { g_engine->graph.recorder().attribute_set(descriptor, name, type, count, elements); });
}

bool backend_results(const CudnnLibrary* library, abi::BackendDescriptor heuristics, int type, std::int64_t requested,
                     std::int64_t* count, void* elements, abi::Status* status) {
    const bool is_answered = answered(
        [&] { return g_engine->graph.results(*library, heuristics, type, requested, count, elements, status); });
    told([] { g_engine->statistics.after_question(); });
    return is_answered;
}

void* wrap_nvrtc(const char* name, void* real) { return g_engine->compile.wrap(name, real); }

// "compilations=19 compilations_saved=19 compiling_saved_s=7.5", or nothing if none was asked for.
std::string compile_summary() {
    const compile::Counters counters = g_engine->compile.counters();
    if (counters.asked == 0) {
        return "";
    }
    char saved_s[32];
    std::snprintf(saved_s, sizeof saved_s, "%.2f", counters.saved_s);
    return " compilations=" + std::to_string(counters.asked) + " compilations_saved=" + std::to_string(counters.saved) +
           " compiling_saved_s=" + saved_s;
}

void flush_statistics() {
    told([] { g_engine->statistics.flush(); });
}

void finish() {
    flush_statistics();
    told([] { log_info("summary " + g_engine->context.statistics().summary() + compile_summary()); });
}

void get_statistics(cudnn_tune_statistics* statistics) {
    using tune::Counter;
    const tune::Statistics& counters = g_engine->context.statistics();
    statistics->asked = counters.get(Counter::asked);
    statistics->hits = counters.get(Counter::hits);
    statistics->measured = counters.get(Counter::measured);
    statistics->candidates = counters.get(Counter::candidates);
    statistics->forwarded = counters.get(Counter::forwarded);
    statistics->not_stored = counters.get(Counter::not_stored);
    statistics->choosing_ns = counters.get(Counter::choosing_ns);
    statistics->measuring_ns = counters.get(Counter::measuring_ns);
    told([&] {
        const compile::Counters compilations = g_engine->compile.counters();
        statistics->compilations = static_cast<std::int64_t>(compilations.asked);
        statistics->compilations_saved = static_cast<std::int64_t>(compilations.saved);
    });
}

EngineApi g_api = {
    .version = k_engine_api_version,
    .select_legacy = select_legacy,
    .workspace_size = workspace_size,
    .convolve = convolve,
    .convolve_fused = convolve_fused,
    .backend_created = backend_created,
    .backend_initialized = backend_initialized,
    .backend_destroyed = backend_destroyed,
    .backend_attribute_set = backend_attribute_set,
    .backend_results = backend_results,
    .wrap_nvrtc = wrap_nvrtc,
    .finish = finish,
    .get_statistics = get_statistics,
    .flush = flush_statistics,
};

const char* environment_variable(const char* name) { return ::secure_getenv(name); }

}  // namespace
}  // namespace cudnn_tune

// Called once by the shim. Null: this engine does not fit the shim or cannot work, and everything is forwarded.
extern "C" __attribute__((visibility("default"))) const cudnn_tune::EngineApi* cudnn_tune_engine_open(
    const cudnn_tune::ShimApi* shim) {
    using namespace cudnn_tune;
    const bool opened = answered([&] {
        if (shim == nullptr || shim->version != k_engine_api_version) {
            return false;
        }
        Settings settings = read_settings(environment_variable);
        open_log(settings);
        for (const std::string& warning : settings.warnings) {
            log_message(LogLevel::warn, warning);
        }
        g_engine = new Engine(std::move(settings), shim->real_symbol);
        if (!select::may_upgrade(g_engine->context.policy())) {
            g_api.workspace_size = nullptr;
            g_api.convolve = nullptr;
            g_api.convolve_fused = nullptr;
        }
        return true;
    });
    return opened ? &g_api : nullptr;
}
