// SPDX-License-Identifier: Apache-2.0
// A question that the cache could not answer, with the means to measure it. Each API has its own kind; the tuner
// treats them alike. For one thread; lives for one call of the program.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "cache/record.hpp"
#include "cudnn/graph_configurations.hpp"
#include "key/candidate.hpp"
#include "key/problem_text.hpp"
#include "measure/driver.hpp"
#include "measure/event_timer.hpp"
#include "measure/scratch.hpp"
#include "measure/tensor_set.hpp"
#include "select/policy.hpp"
#include "util/result.hpp"

namespace cudnn_tune::tune {

// cuDNN's second list (heuristics mode B) is not for every process. cuDNN 9.19 captures CUDA graphs inside that call,
// to see how kernels would be launched: up to 18 for one problem in two, whatever the graph's handle (seen on an H200).
// While such a capture is open, every other thread that waits for the whole device gets error 900, or crashes in the
// driver (seen). So nobody asks for it in a program that does not do so itself, but processes of our own.
enum class SecondList : std::uint8_t { never, where_the_first_is_short, always };

class Question {
  public:
    Question() = default;
    Question(const Question&) = delete;
    Question& operator=(const Question&) = delete;
    virtual ~Question() = default;

    [[nodiscard]] virtual const key::KeyText& key() const = 0;
    // The stream that the program works on, if the question tells: whether it is being captured decides.
    [[nodiscard]] virtual std::optional<abi::CuStream> caller_stream() = 0;
    // The stream that the trials run on; nothing if there is none. Asked only when measuring is certain: it may have
    // to make a handle.
    [[nodiscard]] virtual std::optional<abi::CuStream> trial_stream() = 0;
    // False if the program has moved the handle to another stream since: another thread uses it at the same time.
    [[nodiscard]] virtual bool stream_is_still(abi::CuStream) = 0;
    // The workspace that the caller brought, when it must do with that; else INT64_MAX.
    [[nodiscard]] virtual std::int64_t offered_workspace_bytes() const = 0;
    // All candidates, in the library's own order; empty if it refuses the question.
    [[nodiscard]] virtual std::vector<key::Candidate> candidates() = 0;
    // That candidates() may ask for the second list, too.
    void allow_second_list(SecondList which) { m_second_list = std::max(m_second_list, which); }
    [[nodiscard]] SecondList second_list() const { return m_second_list; }
    // True if candidates() found few, and did not ask for the second list: the record then waits for who does.
    [[nodiscard]] virtual bool misses_second_list() const { return m_misses_second_list; }
    // False for a candidate whose rounding the program's descriptors do not allow.
    [[nodiscard]] virtual bool allows(const key::Candidate&) const { return true; }
    // False for a candidate of a record that is none of this question's: it is kept as it is.
    [[nodiscard]] virtual bool can_run(const key::Candidate&) const { return true; }
    // True if the record was measured without a kind of candidates that this question has.
    [[nodiscard]] virtual bool lacks_candidates(const cache::Record&) const { return false; }
    // Memory for the tensors, then for the largest workspace that will be used.
    [[nodiscard]] virtual Status take_tensors(measure::Scratch&, const measure::TensorNeeds&) = 0;
    [[nodiscard]] virtual Status take_workspace(measure::Scratch&, std::int64_t bytes) = 0;
    // Memory of the caller that the timer may overwrite between launches; empty if it brought none that is large
    // enough.
    [[nodiscard]] virtual measure::HeadStartBuffer offered_head_start() const { return {}; }

    // What the policy says about checking outputs. Set once, before it is asked.
    [[nodiscard]] select::Verify verify() const { return m_verify; }
    void set_verify(select::Verify verify) { m_verify = verify; }
    // What launches write when they do not go round the copies of the tensors; after take_tensors().
    [[nodiscard]] virtual std::vector<measure::Output> outputs() const = 0;
    // Whether launches go round the copies, as they do at first.
    void rotate(bool does) { m_rotates = does; }

    // What computes this without rounding its inputs, the least demanding first, to compare those with that may round
    // them; empty where that does not matter. Need not be among the candidates.
    [[nodiscard]] virtual std::vector<key::LegacyChoice> exact_choices(std::int64_t /*workspace_bytes*/) { return {}; }

    // For measure::Runner; `slot` numbers the candidates that are tried.
    [[nodiscard]] virtual abi::Status prepare(std::size_t slot, const key::Candidate&) = 0;
    [[nodiscard]] virtual abi::Status launch(std::size_t slot, const key::Candidate&) = 0;
    virtual void release(std::size_t slot) = 0;

  protected:
    // Which copy of the tensors the next launch is to use.
    [[nodiscard]] std::size_t next_copy(std::size_t copies) { return m_rotates ? m_turn++ % copies : 0; }
    // What the library lists for a graph.
    [[nodiscard]] std::vector<key::Candidate> list_graph(const cudnn::RealCudnn&, const cudnn::GraphTarget&);
    // True if list_graph() would ask for the second list, and the record's configurations are without it.
    [[nodiscard]] bool lacks_second_list(const cache::Record&) const;

  private:
    select::Verify m_verify = select::Verify::off;
    SecondList m_second_list = SecondList::never;
    bool m_misses_second_list = false;
    bool m_rotates = true;
    std::size_t m_turn = 0;
};

}  // namespace cudnn_tune::tune
