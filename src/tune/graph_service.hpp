// SPDX-License-Identifier: Apache-2.0
// Answers CUDNN_ATTR_ENGINEHEUR_RESULTS of the graph API, from what it recorded of the program's descriptors.
#pragma once

#include <atomic>
#include <memory>

#include "cudnn/graph_configurations.hpp"
#include "cudnn/graph_problem.hpp"
#include "cudnn/graph_recorder.hpp"
#include "select/frontier.hpp"
#include "tune/answer_table.hpp"
#include "tune/context.hpp"
#include "tune/own_handles.hpp"

namespace cudnn_tune::tune {

class GraphService {
  public:
    explicit GraphService(Context& context) : m_context(context) {}

    [[nodiscard]] cudnn::GraphRecorder& recorder() { return m_recorder; }

    // True: `elements` and *count are filled and *status is the answer. False: nothing was written, and the real call
    // must be made. Any thread.
    [[nodiscard]] bool results(const CudnnLibrary&, abi::BackendDescriptor heuristics, int type, std::int64_t requested,
                               std::int64_t* count, void* elements, abi::Status* status);

  private:
    struct Key {
        Digest digest;
        std::uint64_t library;
        std::uint64_t is_second_list;
    };
    static_assert(std::has_unique_object_representations_v<Key>);

    // What this process serves for a key, for all modes; but where the second list was not asked for when the key was
    // answered first, it has an answer of its own. Frozen: some programs store positions in a list.
    struct Answer {
        key::KeyText key;
        // As the policy lets it be served; null: nothing is left, and the real library answers.
        std::shared_ptr<const cache::Record> record;
        std::array<std::vector<std::size_t>, 3> lists;  // by mode: indices into record->candidates
        std::vector<std::size_t> last_resort;           // FALLBACK after another mode was answered
        bool is_near = false;                           // the entry of another problem
        // Which FALLBACK list was served first: 0 none yet, 1 its frontier, 2 the last resort.
        mutable std::atomic<int> fallback_form{0};
        mutable std::atomic<bool> other_mode_answered{false};
        // Candidates that did not finalize in this process, one flag each.
        std::unique_ptr<std::atomic<bool>[]> refused;
    };

    // How one question came to its answer.
    struct Found {
        const Answer* answer = nullptr;  // null: the real library must answer, and the reason was counted
        bool measured_now = false;
        std::unique_ptr<const Answer> unmeasured{};  // owns `answer` if it is good for this question only
    };
    [[nodiscard]] Found find_or_tune(Library&, const cudnn::GraphProblem&, const cudnn::GraphTarget&, const Key&,
                                     key::KeyText, bool may_measure);
    [[nodiscard]] std::unique_ptr<Answer> make_answer(key::KeyText, bool is_fp32, const cache::Record&,
                                                      const select::Terms&);
    [[nodiscard]] static const std::vector<std::size_t>& list_for(const Answer&, int mode);
    [[nodiscard]] std::int64_t fill(const Library&, const Answer&, const std::vector<std::size_t>& list,
                                    const cudnn::GraphTarget&, std::int64_t requested, abi::BackendDescriptor* slots);
    // The environment text of the device that the question is about, and whether that is the current device.
    struct Where {
        std::string environment;
        bool is_current_device;
    };
    [[nodiscard]] std::optional<Where> where(Library&, const cudnn::GraphProblem&);

    Context& m_context;
    cudnn::GraphRecorder m_recorder;
    OwnHandles m_handles;
    AnswerTable<Key, Answer> m_answers;
};

}  // namespace cudnn_tune::tune
