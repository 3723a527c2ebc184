// SPDX-License-Identifier: Apache-2.0
// What decides the result of a compilation, made into a key: the program's text, name and headers, the options in
// order, the name expressions, and the compiler. A digest finds the entry; lengths are compared as well. Files that a
// program includes are not part of it, so a program that can read any is not kept (reads_files()).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "util/digest.hpp"
#include "util/digest_stream.hpp"

namespace cudnn_tune::compile {

// In bytes, without terminating zeros.
struct ProgramLengths {
    std::uint64_t source = 0;
    std::uint64_t headers = 0;  // names and texts
    std::uint64_t header_count = 0;
    std::uint64_t options = 0;
    std::uint64_t option_count = 0;
    std::uint64_t name_expressions = 0;
    std::uint64_t name_expression_count = 0;
    bool operator==(const ProgramLengths&) const = default;
};

struct ProgramKey {
    Digest digest;
    ProgramLengths lengths;
    bool operator==(const ProgramKey&) const = default;
};

struct ProgramKeyHash {
    std::size_t operator()(const ProgramKey& key) const noexcept { return std::hash<Digest>{}(key.digest); }
};

// Which compiler: nvrtcVersion() does not tell patch releases apart, the ELF build id does.
struct CompilerIdentity {
    int major = 0;
    int minor = 0;
    std::string build;  // build id in hex; empty if the library has none
    bool operator==(const CompilerIdentity&) const = default;
};

// What nvrtcCreateProgram is given. `name` null and "" are different programs: NVRTC has a default name.
struct ProgramText {
    const char* source = nullptr;
    const char* name = nullptr;
    int header_count = 0;
    const char* const* headers = nullptr;
    const char* const* include_names = nullptr;
};

// Read once, when the program is created; the text may be gone afterwards. 4 MB take well under 2 ms.
class ProgramRead {
  public:
    // Requires arguments that nvrtcCreateProgram accepted.
    explicit ProgramRead(const ProgramText&);

    [[nodiscard]] ProgramKey key(const std::vector<std::string>& options,
                                 const std::vector<std::string>& name_expressions, const CompilerIdentity&) const;
    [[nodiscard]] const std::string& name() const { return m_name; }

    // Whether a quoted #include would find a file beside the program (in its own folder or the current one).
    [[nodiscard]] bool includes_existing_file() const;

  private:
    void find_includes(std::string_view text, const std::vector<std::string_view>& known);

    DigestStream m_text;
    ProgramLengths m_lengths;
    std::string m_name;
    std::vector<std::string> m_quoted_includes;  // that no header given to the program answers
};

// Whether an option makes the compiler read or write files whose content is no part of the key.
[[nodiscard]] bool reads_files(const std::vector<std::string>& options);

// Whether NVRTC takes options from the environment of this process: seldom, and too open-ended to be made part of a
// key.
[[nodiscard]] bool has_compiler_environment(const char* (*get)(const char* name));

}  // namespace cudnn_tune::compile
