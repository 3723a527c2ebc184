// SPDX-License-Identifier: Apache-2.0
// What a candidate writes. Outputs are made recognisable, the candidate is launched once, and what is there then is
// read: of a large output some MiB, always the same pieces, so that samples of two candidates compare.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "measure/driver.hpp"
#include "tune/question.hpp"

namespace cudnn_tune::tune {

struct OutputSample {
    std::vector<std::vector<std::uint8_t>> outputs;  // in the order of OutputSampler::outputs()
    bool wrote_outside = false;
};

// Requires taken tensors and workspace. While it lives, launches of the question use one copy of the tensors.
class OutputSampler {
  public:
    OutputSampler(Question&, const measure::Driver&, abi::CuStream);
    OutputSampler(const OutputSampler&) = delete;
    OutputSampler& operator=(const OutputSampler&) = delete;
    ~OutputSampler() { m_question.rotate(true); }

    [[nodiscard]] const std::vector<measure::Output>& outputs() const { return m_outputs; }
    // Nothing: it cannot be run now. `gpu` if the driver reported an error. `slot` is for the question's prepare().
    [[nodiscard]] Result<std::optional<OutputSample>> sample(std::size_t slot, const key::Candidate&);

  private:
    Status fill(const measure::Output&);
    Status read(const measure::Output&, OutputSample&);
    Status append(abi::CuDevicePtr from, std::int64_t size, std::vector<std::uint8_t>& bytes);

    Question& m_question;
    const measure::Driver& m_driver;
    abi::CuStream m_stream;
    std::vector<measure::Output> m_outputs;
    std::vector<std::vector<std::uint8_t>> m_guards;
};

}  // namespace cudnn_tune::tune
