// SPDX-License-Identifier: Apache-2.0
// What CompileCache does in the calls around a compilation: programs come and go, and are asked for what they gave.
#include <algorithm>
#include <utility>

#include "compile/compile_cache.hpp"
#include "util/log.hpp"

namespace cudnn_tune::compile {

using abi::k_nvrtc_success;
using abi::NvrtcProgram;
using abi::NvrtcResult;

NvrtcResult CompileCache::create(const NvrtcLibrary& library, NvrtcProgram* handle, const ProgramText& text) {
    const NvrtcResult result =
        library.real.create(handle, text.source, text.name, text.header_count, text.headers, text.include_names);
    if (result != k_nvrtc_success || handle == nullptr || *handle == nullptr) {
        return result;
    }
    try {
        auto program = std::make_shared<Program>(text);
        const std::lock_guard lock(m_mutex);
        m_programs[*handle] = std::move(program);
    } catch (...) {
        // A program that is not known is the real library's alone. An old one of the same address must not be taken
        // for it; there is one only if it was destroyed past the wrappers.
        const std::lock_guard lock(m_mutex);
        m_programs.erase(*handle);
    }
    return result;
}

// Forgotten before it is destroyed: afterwards another thread may already have got the same address for a new program.
NvrtcResult CompileCache::destroy(const NvrtcLibrary& library, NvrtcProgram* handle) {
    SharedProgram forgotten;  // freed after the lock; lowered names point into it until here
    if (handle != nullptr) {
        const std::lock_guard lock(m_mutex);
        if (const auto at = m_programs.find(*handle); at != m_programs.end()) {
            forgotten = std::move(at->second);
            m_programs.erase(at);
        }
    }
    return library.real.destroy(handle);
}

NvrtcResult CompileCache::add_name_expression(const NvrtcLibrary& library, NvrtcProgram handle,
                                              const char* expression) {
    const NvrtcResult result = library.real.add_name_expression(handle, expression);
    if (result != k_nvrtc_success || expression == nullptr) {
        return result;
    }
    try {
        if (const SharedProgram program = find_program(handle)) {
            std::string copy = expression;
            const std::lock_guard lock(m_mutex);
            program->name_expressions.push_back(std::move(copy));
        }
    } catch (...) {
        const std::lock_guard lock(m_mutex);
        m_programs.erase(handle);  // its key would be wrong
    }
    return result;
}

// Something was asked that the entry of a skipped program does not hold.
NvrtcResult CompileCache::compile_late(const NvrtcLibrary& library, NvrtcProgram handle, Program& program,
                                       const KernelEntry& entry) {
    std::vector<std::string> options;
    {
        const std::lock_guard lock(m_mutex);
        if (program.compiled_late) {
            return k_nvrtc_success;
        }
        options = program.options;
    }
    const NvrtcResult result = compile_with(library, handle, options);
    if (result != k_nvrtc_success) {
        m_counters.failed.fetch_add(1, std::memory_order_relaxed);
        return result;
    }
    m_counters.compiled.fetch_add(1, std::memory_order_relaxed);
    m_counters.saved.fetch_sub(1, std::memory_order_relaxed);
    m_counters.saved_ns.fetch_sub(entry.compile_ns, std::memory_order_relaxed);
    m_counters.saved_bytes.fetch_sub(static_cast<std::uint64_t>(entry.payload_bytes()), std::memory_order_relaxed);
    const std::lock_guard lock(m_mutex);
    program.compiled_late = true;
    return result;
}

NvrtcResult CompileCache::size_of(const NvrtcLibrary& library, NvrtcProgram handle, const Output& output,
                                  std::size_t* size) {
    const Answer answer = size != nullptr ? answer_for(handle) : Answer{};
    if (answer.state == State::skipped) {
        if (const auto& section = *answer.entry.*output.section) {
            *size = section->size();
            return k_nvrtc_success;
        }
        if (const NvrtcResult late = compile_late(library, handle, *answer.program, *answer.entry);
            late != k_nvrtc_success) {
            return late;
        }
    }
    return (library.real.*output.real).size(handle, size);
}

NvrtcResult CompileCache::bytes_of(const NvrtcLibrary& library, NvrtcProgram handle, const Output& output,
                                   char* bytes) {
    const NvrtcOutput& real = library.real.*output.real;
    const Answer answer = bytes != nullptr ? answer_for(handle) : Answer{};
    if (answer.state == State::created || !answer.entry) {
        return real.bytes(handle, bytes);
    }
    const auto& section = *answer.entry.*output.section;
    if (answer.state == State::skipped) {
        if (section) {
            std::copy(section->begin(), section->end(), bytes);
            return k_nvrtc_success;
        }
        if (const NvrtcResult late = compile_late(library, handle, *answer.program, *answer.entry);
            late != k_nvrtc_success) {
            return late;
        }
    }
    const NvrtcResult result = real.bytes(handle, bytes);
    std::size_t size = 0;
    if (result == k_nvrtc_success && !section && real.size(handle, &size) == k_nvrtc_success) {
        learn(*answer.program, *answer.entry, output, bytes, size);
    }
    return result;
}

// What one process asked beyond the entry, the next will ask too.
void CompileCache::learn(Program& program, const KernelEntry& entry, const Output& output, const char* bytes,
                         std::size_t size) {
    if (output.section == &KernelEntry::log && size > k_most_log_bytes) {
        return;
    }
    {
        const std::lock_guard lock(m_mutex);
        if (std::exchange(program.learned, true)) {
            return;
        }
    }
    try {
        auto more = std::make_shared<KernelEntry>(entry);
        (*more).*output.section = std::string(bytes, size);
        remember(more);
        save(*more);
    } catch (...) {
        log_debug("a compiled kernel is not kept whole: out of memory");
    }
}

NvrtcResult CompileCache::lowered_name(const NvrtcLibrary& library, NvrtcProgram handle, const char* expression,
                                       const char** lowered) {
    const Answer answer = expression != nullptr && lowered != nullptr ? answer_for(handle) : Answer{};
    if (answer.state == State::skipped) {
        if (const std::string* known = answer.entry->lowered_name(expression)) {
            *lowered = known->c_str();  // lives as long as the program
            return k_nvrtc_success;
        }
        if (const NvrtcResult late = compile_late(library, handle, *answer.program, *answer.entry);
            late != k_nvrtc_success) {
            return late;
        }
    }
    return library.real.lowered_name(handle, expression, lowered);
}

}  // namespace cudnn_tune::compile
