// SPDX-License-Identifier: Apache-2.0
// What happens on a miss: look at the file again, else measure and publish. Everything here may be slow; it is never
// on the path of a hit.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "cache/cache_table.hpp"
#include "cache/trial_marks.hpp"
#include "measure/driver.hpp"
#include "select/engine_history.hpp"
#include "select/near.hpp"
#include "tune/question.hpp"
#include "tune/statistics.hpp"
#include "util/settings.hpp"

namespace cudnn_tune::tune {

class Tuner {
  public:
    // All references must live as long as the tuner, which is as long as the process.
    Tuner(const Settings& settings, cache::Cache* cache, Statistics& statistics, Clock& clock);

    using RecordPtr = std::shared_ptr<const cache::Record>;
    struct Reply {
        RecordPtr record;           // null: the real library must answer, and the reason was counted
        bool measured_now = false;  // by this call, and written before it returned; else it came from the file
    };
    // The record to serve for the question, without what it denies. `driver` may be null.
    [[nodiscard]] Reply answer(Question&, const measure::Driver* driver);

    // A configuration of the key's record was measured here or elsewhere but failed when the program ran it: writes
    // that down in a new revision. Never waits for another thread.
    void mark_failed(const key::KeyText& key, const key::GraphChoice& choice, abi::Status status);
    // In mode `read`: the record of the nearest problem that may stand for the question's. Null: there is none.
    [[nodiscard]] RecordPtr nearest(const Question&, select::Nearest);

  private:
    [[nodiscard]] Reply find_or_measure(Question&, const measure::Driver*);
    [[nodiscard]] Reply decline(Counter reason);
    [[nodiscard]] bool usable_in_this_process();
    [[nodiscard]] Reply measure_and_publish(Question&, const measure::Driver&, const RecordPtr& known, bool has_answer);
    void learn_from_files(const std::string& environment);
    void note_wanted(Question&, const RecordPtr& known);
    void note_incomplete(const Question&, const cache::Record& known);
    [[nodiscard]] RecordPtr publish(cache::Record);

    const Settings& m_settings;
    cache::Cache* m_cache;  // null: nothing can be stored or found
    Statistics& m_statistics;
    Clock& m_clock;

    // One thread at a time is past the hit path: the GPU is measured by one anyway, and the cache is then consistent
    // whenever nobody holds it. Timed: a waiting thread may hold a lock that the measuring one needs.
    std::timed_mutex m_slow_path;
    std::atomic<bool> m_slow_path_taken{false};
    // What is known of other problems, guarded by m_slow_path.
    select::NearEntries m_near;
    select::EngineHistory m_history;
    std::set<std::string> m_learned;  // environments
    std::string m_cache_path;
    // Null where nothing is measured. Guarded by m_slow_path.
    std::unique_ptr<cache::TrialMarks> m_marks;
    bool m_store_failed = false;  // guarded by m_slow_path
    // What could not be measured in this process, with the workspace and the lists that were there for it: a program
    // that asks again at every step does not pay again. Guarded by m_slow_path.
    struct Hopeless {
        std::int64_t offered_bytes;
        SecondList second_list;
    };
    std::unordered_map<Digest, Hopeless> m_hopeless;
    // What mode `retune` has measured anew in this process: threads that wait for it need not do so again. Guarded by
    // m_slow_path.
    std::unordered_set<Digest> m_retuned;
    // A forked child finds the slow path as the parent's threads left it: if one was in it, the child can never enter.
    enum class ChildState : std::uint8_t { parent, child_may_look_up, child_cut_off };
    std::atomic<ChildState> m_child_state{ChildState::parent};
    const int m_pid;
};

}  // namespace cudnn_tune::tune
