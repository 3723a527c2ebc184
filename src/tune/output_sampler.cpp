// SPDX-License-Identifier: Apache-2.0
#include "tune/output_sampler.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "measure/output_check.hpp"

namespace cudnn_tune::tune {
namespace {

// A larger output is looked at in pieces, evenly spread, with its beginning and its end.
constexpr std::int64_t k_most_bytes = std::int64_t{4} << 20;
constexpr std::int64_t k_pieces = 64;
constexpr std::int64_t k_most_guard_bytes = 4096;
constexpr unsigned k_guard_word = 0xa5a5a5a5U;
constexpr unsigned k_untouched_word = 0x01010101U * measure::k_untouched_byte;

// Where the tail begins: the word that holds the last element may be filled as a whole.
std::int64_t filled_bytes(const measure::Output& output) {
    return output.tail_bytes > 0 ? (output.bytes + 3) / 4 * 4 : output.bytes / 4 * 4;
}

Error failed(const char* call, abi::CuResult result) {
    return {ErrorCategory::gpu, std::string(call) + " returned " + std::to_string(result)};
}

}  // namespace

OutputSampler::OutputSampler(Question& question, const measure::Driver& driver, abi::CuStream stream)
    : m_question(question), m_driver(driver), m_stream(stream), m_outputs(question.outputs()) {
    m_question.rotate(false);
}

Result<std::optional<OutputSample>> OutputSampler::sample(std::size_t slot, const key::Candidate& candidate) {
    if (m_question.prepare(slot, candidate) != abi::k_success) {
        return std::optional<OutputSample>();
    }
    struct Release {
        Question& question;
        std::size_t slot;
        ~Release() { question.release(slot); }
    } const release{m_question, slot};
    for (const measure::Output& output : m_outputs) {
        if (const Status filled = fill(output); !filled) {
            return filled.error();
        }
    }
    const bool has_run = m_question.launch(slot, candidate) == abi::k_success;
    OutputSample sample;
    sample.outputs.reserve(m_outputs.size());
    m_guards.clear();
    m_guards.reserve(2 * m_outputs.size());
    for (const measure::Output& output : m_outputs) {
        if (const Status was_read = has_run ? read(output, sample) : ok_status(); !was_read) {
            return was_read.error();
        }
    }
    if (const auto result = m_driver.stream_synchronize(m_stream); result != abi::k_cu_success) {
        return failed("cuStreamSynchronize", result);
    }
    if (!has_run) {
        return std::optional<OutputSample>();
    }
    sample.wrote_outside = std::ranges::any_of(m_guards, [](const std::vector<std::uint8_t>& guard) {
        return std::ranges::any_of(guard, [](std::uint8_t byte) { return byte != (k_guard_word & 0xffU); });
    });
    m_guards.clear();
    return std::optional(std::move(sample));
}

Status OutputSampler::fill(const measure::Output& output) {
    const std::int64_t inside = filled_bytes(output);
    const std::int64_t behind = std::min(output.tail_bytes - (inside - output.bytes), k_most_guard_bytes) / 4 * 4;
    const auto at = output.address;
    for (const auto& [address, bytes, word] :
         {std::tuple(at - static_cast<abi::CuDevicePtr>(output.head_bytes), output.head_bytes, k_guard_word),
          std::tuple(at, inside, k_untouched_word),
          std::tuple(at + static_cast<abi::CuDevicePtr>(inside), behind, k_guard_word)}) {
        const auto words = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 0) / 4);
        if (words == 0) {
            continue;
        }
        if (const auto result = m_driver.memset_d32_async(address, word, words, m_stream);
            result != abi::k_cu_success) {
            return failed("cuMemsetD32Async", result);
        }
    }
    return ok_status();
}

Status OutputSampler::read(const measure::Output& output, OutputSample& sample) {
    std::vector<std::uint8_t>& bytes = sample.outputs.emplace_back();
    // Never moved while copies into it are under way.
    bytes.reserve(static_cast<std::size_t>(std::min(output.bytes, k_most_bytes)));
    const std::int64_t piece = k_most_bytes / k_pieces;
    if (output.bytes <= k_most_bytes) {
        if (Status appended = append(output.address, output.bytes, bytes); !appended) {
            return appended;
        }
    } else {
        for (std::int64_t i = 0; i < k_pieces; ++i) {
            const std::int64_t offset = (output.bytes - piece) / (k_pieces - 1) * i / 8 * 8;
            if (Status appended = append(output.address + static_cast<abi::CuDevicePtr>(offset), piece, bytes);
                !appended) {
                return appended;
            }
        }
    }
    const std::int64_t inside = filled_bytes(output);
    const std::int64_t behind = std::min(output.tail_bytes - (inside - output.bytes), k_most_guard_bytes) / 4 * 4;
    for (const auto& [address, size] :
         {std::pair(output.address - static_cast<abi::CuDevicePtr>(output.head_bytes), output.head_bytes),
          std::pair(output.address + static_cast<abi::CuDevicePtr>(inside), behind)}) {
        if (size > 0) {
            if (Status appended = append(address, size, m_guards.emplace_back()); !appended) {
                return appended;
            }
        }
    }
    return ok_status();
}

// The copy is enqueued; what it writes is there after the stream was waited for.
Status OutputSampler::append(abi::CuDevicePtr from, std::int64_t size, std::vector<std::uint8_t>& bytes) {
    const std::size_t at = bytes.size();
    bytes.resize(at + static_cast<std::size_t>(size));
    if (const auto result =
            m_driver.memcpy_dtoh_async(bytes.data() + at, from, static_cast<std::size_t>(size), m_stream);
        result != abi::k_cu_success) {
        return failed("cuMemcpyDtoHAsync", result);
    }
    return ok_status();
}

}  // namespace cudnn_tune::tune
