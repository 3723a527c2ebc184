// SPDX-License-Identifier: Apache-2.0
#include "util/settings.hpp"

#include <array>
#include <charconv>
#include <optional>

namespace cudnn_tune {
namespace {

constexpr std::array<std::pair<std::string_view, Mode>, 6> k_modes{{{"tune", Mode::tune},
                                                                    {"read", Mode::read},
                                                                    {"strict", Mode::strict},
                                                                    {"record", Mode::record},
                                                                    {"retune", Mode::retune},
                                                                    {"off", Mode::off}}};
constexpr std::array<std::pair<std::string_view, Effort>, 3> k_efforts{
    {{"fast", Effort::fast}, {"normal", Effort::normal}, {"exhaustive", Effort::exhaustive}}};
constexpr std::array<std::pair<std::string_view, CompileMode>, 3> k_compile_modes{
    {{"on", CompileMode::on}, {"read", CompileMode::read}, {"off", CompileMode::off}}};
constexpr std::array<std::pair<std::string_view, bool>, 2> k_switch{{{"on", true}, {"off", false}}};
constexpr std::array<std::pair<std::string_view, LogLevel>, 4> k_levels{
    {{"warn", LogLevel::warn}, {"info", LogLevel::info}, {"debug", LogLevel::debug}, {"off", LogLevel::off}}};

template <typename T>
std::optional<T> parse_number(std::string_view text) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < T{}) {
        return std::nullopt;
    }
    return value;
}

class Reader {
  public:
    Reader(const char* (*get)(const char*), std::vector<std::string>& warnings) : m_get(get), m_warnings(warnings) {}

    std::string_view text(const char* name) const {
        const char* value = m_get(name);
        return value != nullptr ? value : "";
    }

    template <typename T, std::size_t N>
    void choose(const char* name, const std::array<std::pair<std::string_view, T>, N>& names, T& target) {
        const std::string_view value = text(name);
        if (value.empty()) {
            return;
        }
        std::string known;
        for (const auto& [text, choice] : names) {
            if (text == value) {
                target = choice;
                return;
            }
            known.append(known.empty() ? "" : ", ").append(text);
        }
        warn(name, "is none of " + known);
    }

    void warn(const char* name, const std::string& what) {
        m_warnings.push_back(std::string(name) + "=" + std::string(text(name)) + " " + what + "; the default is used");
    }

  private:
    const char* (*m_get)(const char*);
    std::vector<std::string>& m_warnings;
};

// Who asks for `fast` gets it: a problem whose kernels take a tenth of a second would else cost as much as all others.
constexpr double k_fast_problem_budget_s = 0.5;

// "2" (seconds per problem) or "2,120" (and per process).
void read_budget(Reader& reader, Settings& settings) {
    constexpr const char* name = "CUDNN_TUNE_BUDGET";
    if (settings.effort == Effort::fast) {
        settings.problem_budget_s = k_fast_problem_budget_s;
    }
    const std::string_view text = reader.text(name);
    if (text.empty()) {
        return;
    }
    const std::size_t comma = text.find(',');
    const auto problem = parse_number<double>(text.substr(0, comma));
    const auto process = comma == std::string_view::npos ? std::optional(settings.process_budget_s)
                                                         : parse_number<double>(text.substr(comma + 1));
    if (!problem || !process) {
        reader.warn(name, "is not seconds per problem and per process, like 2,120");
        return;
    }
    settings.problem_budget_s = *problem;
    settings.process_budget_s = *process;
}

// Bytes, or a share of the GPU's memory ("10%").
void read_workspace_cap(Reader& reader, Settings& settings) {
    constexpr const char* name = "CUDNN_TUNE_WORKSPACE";
    const std::string_view text = reader.text(name);
    if (text.empty()) {
        return;
    }
    if (text.back() == '%') {
        const auto percent = parse_number<int>(text.substr(0, text.size() - 1));
        if (percent && *percent <= 100) {
            settings.workspace_cap.percent = *percent;
            return;
        }
    } else if (const auto bytes = parse_byte_count(text)) {
        settings.workspace_cap.bytes = *bytes;
        return;
    }
    reader.warn(name, "is neither bytes (like 256M) nor a share of the memory (like 10%)");
}

void read_wait(Reader& reader, Settings& settings) {
    constexpr const char* name = "CUDNN_TUNE_WAIT";
    const std::string_view text = reader.text(name);
    if (text.empty()) {
        return;
    }
    if (const auto seconds = parse_number<double>(text)) {
        settings.wait_s = *seconds;
    } else {
        reader.warn(name, "is no number of seconds");
    }
}

// Room for a few hundred records: a smaller file would be compacted all the time.
constexpr std::int64_t k_smallest_bound_bytes = std::int64_t{1} << 20;

void read_cache_bound(Reader& reader, Settings& settings) {
    constexpr const char* name = "CUDNN_TUNE_MAX_SIZE";
    const std::string_view text = reader.text(name);
    if (text.empty()) {
        return;
    }
    const auto bytes = parse_byte_count(text);
    if (bytes && *bytes >= k_smallest_bound_bytes) {
        settings.most_cache_bytes = *bytes;
    } else {
        reader.warn(name, "is no size of at least 1M (like 512M)");
    }
}

}  // namespace

std::optional<std::int64_t> parse_byte_count(std::string_view text) {
    constexpr std::string_view suffixes = "KMG";
    const std::size_t suffix = text.empty() ? std::string_view::npos : suffixes.find(text.back());
    if (suffix != std::string_view::npos) {
        text.remove_suffix(1);
    }
    const int shift = suffix == std::string_view::npos ? 0 : 10 * (static_cast<int>(suffix) + 1);
    const auto count = parse_number<std::int64_t>(text);
    return count && *count <= (INT64_MAX >> shift) ? std::optional(*count << shift) : std::nullopt;
}

Settings read_settings(const char* (*get)(const char* name)) {
    Settings settings;
    Reader reader(get, settings.warnings);
    settings.cache_path = reader.text("CUDNN_TUNE_CACHE");
    std::string_view paths = reader.text("CUDNN_TUNE_SYSTEM_CACHE");
    while (!paths.empty()) {
        const std::size_t colon = paths.find(':');
        if (colon != 0) {
            settings.system_cache_paths.emplace_back(paths.substr(0, colon));
        }
        paths.remove_prefix(colon == std::string_view::npos ? paths.size() : colon + 1);
    }
    reader.choose("CUDNN_TUNE_MODE", k_modes, settings.mode);
    reader.choose("CUDNN_TUNE_EFFORT", k_efforts, settings.effort);
    reader.choose("CUDNN_TUNE_COMPILE", k_compile_modes, settings.compile_mode);
    reader.choose("CUDNN_TUNE_SECOND_LIST", k_switch, settings.asks_second_list);
    reader.choose("CUDNN_TUNE_LOG", k_levels, settings.log_level);
    settings.policy_path = reader.text("CUDNN_TUNE_POLICY");
    settings.statistics_path = reader.text("CUDNN_TUNE_STATS");
    settings.log_file = reader.text("CUDNN_TUNE_LOG_FILE");
    read_budget(reader, settings);
    read_workspace_cap(reader, settings);
    read_wait(reader, settings);
    read_cache_bound(reader, settings);
    return settings;
}

std::string_view name_of(Mode mode) {
    for (const auto& [text, value] : k_modes) {
        if (value == mode) {
            return text;
        }
    }
    return "tune";
}

}  // namespace cudnn_tune
