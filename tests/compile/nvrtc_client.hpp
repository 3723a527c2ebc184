// SPDX-License-Identifier: Apache-2.0
// NVRTC's functions as a client uses them: looked up by name, each handed through a CompileCache if one is given.
#pragma once

#include <dlfcn.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "abi/nvrtc.hpp"
#include "compile/compile_cache.hpp"

namespace cudnn_tune::test {

struct Nvrtc {
    abi::NvrtcVersionFn version;
    abi::NvrtcCreateProgramFn create;
    abi::NvrtcDestroyProgramFn destroy;
    abi::NvrtcCompileProgramFn compile;
    abi::NvrtcAddNameExpressionFn add_name_expression;
    abi::NvrtcGetLoweredNameFn lowered_name;
    abi::NvrtcGetSizeFn cubin_size, ptx_size, ltoir_size, log_size;
    abi::NvrtcGetBytesFn cubin, ptx, ltoir, log;

    // The library stays loaded, as CompileCache would keep it.
    static Nvrtc load(const std::string& path, compile::CompileCache* cache) {
        void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle == nullptr) {
            throw std::runtime_error(::dlerror());
        }
        const auto find = [&](const char* name, auto& target) {
            void* real = ::dlsym(handle, name);
            void* given = cache != nullptr ? cache->wrap(name, real) : real;
            target = reinterpret_cast<std::remove_reference_t<decltype(target)>>(given);
        };
        Nvrtc nvrtc{};
        find("nvrtcVersion", nvrtc.version);
        find("nvrtcCreateProgram", nvrtc.create);
        find("nvrtcDestroyProgram", nvrtc.destroy);
        find("nvrtcCompileProgram", nvrtc.compile);
        find("nvrtcAddNameExpression", nvrtc.add_name_expression);
        find("nvrtcGetLoweredName", nvrtc.lowered_name);
        find("nvrtcGetCUBINSize", nvrtc.cubin_size);
        find("nvrtcGetCUBIN", nvrtc.cubin);
        find("nvrtcGetPTXSize", nvrtc.ptx_size);
        find("nvrtcGetPTX", nvrtc.ptx);
        find("nvrtcGetLTOIRSize", nvrtc.ltoir_size);
        find("nvrtcGetLTOIR", nvrtc.ltoir);
        find("nvrtcGetProgramLogSize", nvrtc.log_size);
        find("nvrtcGetProgramLog", nvrtc.log);
        return nvrtc;
    }
};

struct Source {
    std::string text;
    std::string name = "program.cu";
    std::vector<std::pair<std::string, std::string>> headers{};  // include name, text
    std::vector<std::string> expressions{};
    std::vector<std::string> options = {"--gpu-architecture=sm_90", "--std=c++17"};
};

// A program in NVRTC, from creation to destruction.
class ClientProgram {
  public:
    ClientProgram(const Nvrtc& nvrtc, const Source& source) : m_nvrtc(nvrtc), m_options(source.options) {
        std::vector<const char*> names;
        std::vector<const char*> headers;
        for (const auto& [name, text] : source.headers) {
            names.push_back(name.c_str());
            headers.push_back(text.c_str());
        }
        created = nvrtc.create(&handle, source.text.c_str(), source.name.c_str(), static_cast<int>(names.size()),
                               headers.data(), names.data());
        for (const std::string& expression : source.expressions) {
            (void)nvrtc.add_name_expression(handle, expression.c_str());
        }
    }
    ~ClientProgram() {
        if (handle != nullptr) {
            (void)m_nvrtc.destroy(&handle);
        }
    }
    ClientProgram(const ClientProgram&) = delete;
    ClientProgram& operator=(const ClientProgram&) = delete;

    abi::NvrtcResult compile() {
        std::vector<const char*> pointers;
        for (const std::string& option : m_options) {
            pointers.push_back(option.c_str());
        }
        return m_nvrtc.compile(handle, static_cast<int>(pointers.size()), pointers.data());
    }
    // Nothing if either call fails.
    std::optional<std::string> cubin() const { return output(m_nvrtc.cubin_size, m_nvrtc.cubin); }
    std::optional<std::string> ptx() const { return output(m_nvrtc.ptx_size, m_nvrtc.ptx); }
    std::optional<std::string> ltoir() const { return output(m_nvrtc.ltoir_size, m_nvrtc.ltoir); }
    std::optional<std::string> log() const { return output(m_nvrtc.log_size, m_nvrtc.log); }
    std::string lowered_name(const char* expression) const {
        const char* lowered = nullptr;
        const abi::NvrtcResult result = m_nvrtc.lowered_name(handle, expression, &lowered);
        return result == abi::k_nvrtc_success ? lowered : "error " + std::to_string(result);
    }

    abi::NvrtcProgram handle = nullptr;
    abi::NvrtcResult created = -1;

  private:
    std::optional<std::string> output(abi::NvrtcGetSizeFn size_of, abi::NvrtcGetBytesFn bytes_of) const {
        std::size_t size = 0;
        if (size_of(handle, &size) != abi::k_nvrtc_success) {
            return std::nullopt;
        }
        std::string bytes(size + 1, '?');  // one more, so that the address is never null
        if (bytes_of(handle, bytes.data()) != abi::k_nvrtc_success || bytes.back() != '?') {
            return std::nullopt;
        }
        bytes.pop_back();
        return bytes;
    }

    const Nvrtc& m_nvrtc;
    std::vector<std::string> m_options;
};

// The binary of a program, from creation to destruction; empty if anything fails.
inline std::string cubin_of(const Nvrtc& nvrtc, const Source& source) {
    ClientProgram program(nvrtc, source);
    if (program.created != abi::k_nvrtc_success || program.compile() != abi::k_nvrtc_success) {
        return {};
    }
    return program.cubin().value_or("");
}

}  // namespace cudnn_tune::test
