// SPDX-License-Identifier: Apache-2.0
// A simulated NVRTC. It compiles nothing: the "binary" is a digest of what the real one would read. Lines of the source
// say what it does:
//   // simulated fail            the compilation fails, with a log
//   // simulated warn            it succeeds, with a log
//   // simulated wait FILE       it goes on when FILE exists
//   // simulated started FILE    it makes FILE first
// Every compilation is a line of the call log. The checks of arguments and their order are those seen in NVRTC 13.0.
#include "abi/nvrtc.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/call_log.hpp"
#include "util/digest_stream.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace abi = cudnn_tune::abi;
using abi::NvrtcResult;

struct cudnn_tune::abi::NvrtcProgramObject {
    std::string source;
    std::string name;
    std::vector<std::string> headers;
    std::vector<std::string> expressions;
    std::map<std::string, std::string> lowered;
    std::string cubin;
    std::string ptx;
    std::string ltoir;
    std::string log;
    bool compiled = false;
};

namespace {

constexpr int k_major = 13;
constexpr int k_minor = SIM_NVRTC_MINOR;
constexpr NvrtcResult k_invalid_option = 5;
constexpr NvrtcResult k_no_name_expressions_after_compilation = 8;

// What follows `directive` on its line.
std::string argument_of(const std::string& source, const std::string& directive) {
    const std::size_t at = source.find("// simulated " + directive);
    if (at == std::string::npos) {
        return {};
    }
    const std::size_t start = at + std::strlen("// simulated ") + directive.size() + 1;
    return source.substr(start, source.find('\n', start) - start);
}

bool has_directive(const std::string& source, const std::string& directive) {
    return source.find("// simulated " + directive) != std::string::npos;
}

std::string terminated(std::string text) { return text + '\0'; }

std::string simulated_binary(const abi::NvrtcProgramObject& program, const std::vector<std::string>& options,
                             std::string_view kind) {
    cudnn_tune::DigestStream stream;
    for (const auto* list : {&program.headers, &program.expressions, &options}) {
        stream.add_number(list->size());
        for (const std::string& text : *list) {
            stream.add_counted(text);
        }
    }
    stream.add_counted(program.source);
    stream.add_counted(program.name);
    return "simulated " + std::string(kind) + " of version " + std::to_string(k_major) + "." + std::to_string(k_minor) +
           ": " + to_hex(stream.finish());
}

NvrtcResult size_of(abi::NvrtcProgram program, const std::string& text, std::size_t* size) {
    if (program == nullptr) {
        return abi::k_nvrtc_invalid_program;
    }
    if (size == nullptr) {
        return abi::k_nvrtc_invalid_input;
    }
    *size = text.size();
    return abi::k_nvrtc_success;
}

NvrtcResult bytes_of(abi::NvrtcProgram program, const std::string& text, char* bytes) {
    if (program == nullptr) {
        return abi::k_nvrtc_invalid_program;
    }
    if (bytes == nullptr) {
        return abi::k_nvrtc_invalid_input;
    }
    std::memcpy(bytes, text.data(), text.size());
    return abi::k_nvrtc_success;
}

const std::string k_none;

}  // namespace

EXPORT NvrtcResult nvrtcVersion(int* major, int* minor) {
    if (major == nullptr || minor == nullptr) {
        return abi::k_nvrtc_invalid_input;
    }
    *major = k_major;
    *minor = k_minor;
    return abi::k_nvrtc_success;
}

EXPORT NvrtcResult nvrtcCreateProgram(abi::NvrtcProgram* program, const char* source, const char* name,
                                      int header_count, const char* const* headers, const char* const* include_names) {
    if (program == nullptr) {
        return abi::k_nvrtc_invalid_program;
    }
    if (source == nullptr || header_count < 0 ||
        (header_count > 0 && (headers == nullptr || include_names == nullptr))) {
        return abi::k_nvrtc_invalid_input;
    }
    auto* created = new abi::NvrtcProgramObject;
    created->source = source;
    created->name = name != nullptr ? name : "default_program";
    for (int i = 0; i < header_count; ++i) {
        created->headers.emplace_back(include_names[i]);
        created->headers.emplace_back(headers[i]);
    }
    *program = created;
    return abi::k_nvrtc_success;
}

EXPORT NvrtcResult nvrtcDestroyProgram(abi::NvrtcProgram* program) {
    if (program == nullptr || *program == nullptr) {
        return abi::k_nvrtc_invalid_program;
    }
    delete *program;
    *program = nullptr;
    return abi::k_nvrtc_success;
}

EXPORT NvrtcResult nvrtcAddNameExpression(abi::NvrtcProgram program, const char* expression) {
    if (program == nullptr) {
        return abi::k_nvrtc_invalid_program;
    }
    if (program->compiled) {
        return k_no_name_expressions_after_compilation;
    }
    program->expressions.emplace_back(expression);
    return abi::k_nvrtc_success;
}

EXPORT NvrtcResult nvrtcCompileProgram(abi::NvrtcProgram program, int option_count, const char* const* options) {
    if (program == nullptr) {
        return abi::k_nvrtc_invalid_program;
    }
    cudnn_tune::sim::LogLine line("nvrtcCompileProgram");
    line.add("minor", k_minor).add("name", program->name);
    if (const std::string file = argument_of(program->source, "started"); !file.empty()) {
        ::close(::open(file.c_str(), O_WRONLY | O_CREAT, 0600));
    }
    if (const std::string file = argument_of(program->source, "wait"); !file.empty()) {
        while (::access(file.c_str(), F_OK) != 0) {
            ::usleep(1000);
        }
    }
    const std::vector<std::string> given(options, options + option_count);
    bool virtual_architecture = true;
    bool link_time = false;
    for (const std::string& option : given) {
        if (option == "--nonsense") {
            program->log = terminated("simulated error: unrecognized option");
            return line.result(k_invalid_option);
        }
        virtual_architecture = virtual_architecture && option.find("=sm_") == std::string::npos;
        link_time = link_time || option == "-dlto";
    }
    program->compiled = true;
    if (has_directive(program->source, "fail")) {
        program->log = terminated("simulated error");
        return line.result(abi::k_nvrtc_compilation);
    }
    program->log = terminated(has_directive(program->source, "warn") ? "simulated warning" : "");
    program->cubin = virtual_architecture || link_time ? "" : simulated_binary(*program, given, "cubin");
    program->ptx = link_time ? "" : terminated(simulated_binary(*program, given, "ptx"));
    program->ltoir = link_time ? simulated_binary(*program, given, "ltoir") : "";
    for (const std::string& expression : program->expressions) {
        program->lowered[expression] = "_Z" + std::to_string(expression.size()) + expression;
    }
    return line.result(abi::k_nvrtc_success);
}

EXPORT NvrtcResult nvrtcGetLoweredName(abi::NvrtcProgram program, const char* expression, const char** lowered) {
    if (program == nullptr) {
        return abi::k_nvrtc_invalid_program;
    }
    if (expression == nullptr || lowered == nullptr) {
        return abi::k_nvrtc_invalid_input;
    }
    if (!program->compiled) {
        return abi::k_nvrtc_no_lowered_names_before_compilation;
    }
    const auto at = program->lowered.find(expression);
    if (at == program->lowered.end()) {
        return abi::k_nvrtc_name_expression_not_valid;
    }
    *lowered = at->second.c_str();
    return abi::k_nvrtc_success;
}

#define OUTPUT(Name, member)                                                                 \
    EXPORT NvrtcResult nvrtcGet##Name##Size(abi::NvrtcProgram program, std::size_t* bytes) { \
        return size_of(program, program != nullptr ? program->member : k_none, bytes);       \
    }                                                                                        \
    EXPORT NvrtcResult nvrtcGet##Name(abi::NvrtcProgram program, char* target) {             \
        return bytes_of(program, program != nullptr ? program->member : k_none, target);     \
    }
OUTPUT(CUBIN, cubin)
OUTPUT(PTX, ptx)
OUTPUT(LTOIR, ltoir)
OUTPUT(ProgramLog, log)
