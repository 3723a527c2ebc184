// SPDX-License-Identifier: Apache-2.0
#include "compile/program_key.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace cudnn_tune::compile {
namespace {

// Part of every digest: entries made by another rule are never found.
constexpr std::string_view k_rule = "cudnn-tune program 1";

std::uint64_t total_bytes(const std::vector<std::string>& texts) {
    std::uint64_t bytes = 0;
    for (const std::string& text : texts) {
        bytes += text.size();
    }
    return bytes;
}

void add_all(DigestStream& stream, const std::vector<std::string>& texts) {
    stream.add_number(texts.size());
    for (const std::string& text : texts) {
        stream.add_counted(text);
    }
}

std::string_view skip_blanks(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t");
    return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

// `option` is `name`, or begins with `name=`.
bool is_option(std::string_view option, std::string_view name) {
    return option.starts_with(name) && (option.size() == name.size() || option[name.size()] == '=');
}

}  // namespace

ProgramRead::ProgramRead(const ProgramText& text) {
    m_text.add_counted(k_rule);
    const std::string_view source = text.source;
    m_lengths.source = source.size();
    m_text.add_counted(source);
    m_text.add_number(text.name != nullptr ? 1 : 0);
    if (text.name != nullptr) {
        m_name = text.name;
        m_text.add_counted(m_name);
    }
    const auto count = static_cast<std::size_t>(std::max(text.header_count, 0));
    m_lengths.header_count = count;
    m_text.add_number(count);
    std::vector<std::string_view> known;
    for (std::size_t i = 0; i < count; ++i) {
        const std::string_view name = text.include_names[i];
        const std::string_view header = text.headers[i];
        m_lengths.headers += name.size() + header.size();
        m_text.add_counted(name);
        m_text.add_counted(header);
        known.push_back(name);
    }
    find_includes(source, known);
    for (std::size_t i = 0; i < count; ++i) {
        find_includes(text.headers[i], known);
    }
}

// Every `# include "name"`, also in comments and in branches that are not compiled: more than the compiler sees, which
// errs on the safe side, since it matters only if such a file is there.
void ProgramRead::find_includes(std::string_view text, const std::vector<std::string_view>& known) {
    constexpr std::string_view word = "include";
    const char* at = text.data();
    const char* const end = text.data() + text.size();
    while ((at = static_cast<const char*>(std::memchr(at, '#', static_cast<std::size_t>(end - at)))) != nullptr) {
        ++at;
        std::string_view rest = skip_blanks({at, static_cast<std::size_t>(end - at)});
        if (!rest.starts_with(word)) {
            continue;
        }
        rest = skip_blanks(rest.substr(word.size()));
        if (!rest.starts_with('"')) {
            continue;
        }
        rest.remove_prefix(1);
        const std::size_t close = rest.find_first_of("\"\n");
        if (close == std::string_view::npos || rest[close] == '\n') {
            continue;
        }
        const std::string_view name = rest.substr(0, close);
        if (std::find(known.begin(), known.end(), name) == known.end() &&
            std::find(m_quoted_includes.begin(), m_quoted_includes.end(), name) == m_quoted_includes.end()) {
            m_quoted_includes.emplace_back(name);
        }
    }
}

bool ProgramRead::includes_existing_file() const {
    const std::size_t slash = m_name.find_last_of('/');
    const std::string folder = slash == std::string::npos ? "" : m_name.substr(0, slash + 1);
    return std::any_of(m_quoted_includes.begin(), m_quoted_includes.end(), [&](const std::string& name) {
        return exists(name) || (!folder.empty() && exists(folder + name));
    });
}

ProgramKey ProgramRead::key(const std::vector<std::string>& options, const std::vector<std::string>& name_expressions,
                            const CompilerIdentity& compiler) const {
    DigestStream stream = m_text;
    add_all(stream, options);
    add_all(stream, name_expressions);
    stream.add_number(static_cast<std::uint64_t>(compiler.major));
    stream.add_number(static_cast<std::uint64_t>(compiler.minor));
    stream.add_counted(compiler.build);

    ProgramKey key{stream.finish(), m_lengths};
    key.lengths.options = total_bytes(options);
    key.lengths.option_count = options.size();
    key.lengths.name_expressions = total_bytes(name_expressions);
    key.lengths.name_expression_count = name_expressions.size();
    return key;
}

bool reads_files(const std::vector<std::string>& options) {
    // From NVRTC's own list: include folders, forced includes, precompiled headers, time reports. NVRTC also takes the
    // long ones with one dash.
    constexpr std::array<std::string_view, 10> names = {"-include-path",       "-pre-include",  "-include", "-pch",
                                                        "-create-pch",         "-use-pch",      "-pch-dir", "-time",
                                                        "-fdevice-time-trace", "-ext-desc-file"};
    return std::any_of(options.begin(), options.end(), [&](std::string_view option) {
        option = skip_blanks(option);
        if (option.starts_with("-I") || option.starts_with('@')) {  // -Idir, -I dir; @file
            return true;
        }
        if (option.starts_with("--")) {
            option.remove_prefix(1);
        }
        return std::any_of(names.begin(), names.end(), [&](std::string_view name) { return is_option(option, name); });
    });
}

bool has_compiler_environment(const char* (*get)(const char* name)) {
    constexpr std::array<const char*, 2> variables = {"NVRTC_PREPEND_FLAGS", "NVRTC_APPEND_FLAGS"};
    return std::any_of(variables.begin(), variables.end(), [&](const char* name) {
        const char* value = get(name);
        return value != nullptr && *value != '\0';
    });
}

}  // namespace cudnn_tune::compile
