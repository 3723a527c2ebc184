// SPDX-License-Identifier: Apache-2.0
// Which candidates processes died on (FORMAT.md, section "Marks of trials"). A candidate that never ran for a problem
// may take its process with it; so it is written to a file beside the cache before it runs. What is found there later
// of a process that is gone counts only if the file says how the candidate ended it: a fatal signal of its own or an
// error that sticks to the GPU's context. A process that was killed, interrupted or ran out of time says nothing, and
// bans nothing. Not thread-safe. Without locks or a writable folder there are no marks, and measuring goes on.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/record.hpp"
#include "util/clock.hpp"
#include "util/file_system.hpp"

namespace cudnn_tune::cache {

// A candidate is not tried any more when this many processes died on it: one death may have had another cause.
inline constexpr int k_deaths_that_count = 2;

struct TrialMark {
    std::string path;
    Digest digest;
    std::string choice;
    std::string ended;     // "signal 8", "sticky 700"; empty: nothing says that the candidate was to blame
    bool running = false;  // its process lives
};
// The marks beside a cache file, by path.
[[nodiscard]] std::vector<TrialMark> list_trial_marks(FileSystem&, const std::string& cache_path);
// Removes those of processes that are gone: their candidates are tried again. Returns how many.
[[nodiscard]] Result<int> clear_trial_marks(FileSystem&, const std::string& cache_path);

class TrialMarks {
  public:
    // `cache_path` may be relative: it is resolved now.
    TrialMarks(FileSystem&, Clock&, const std::string& cache_path);
    TrialMarks(const TrialMarks&) = delete;
    TrialMarks& operator=(const TrialMarks&) = delete;
    ~TrialMarks() { end(); }

    // How many processes died on it; files are looked at the first time that this process asks.
    [[nodiscard]] int deaths(const Digest&, const Choice&);

    // The candidate is about to run for the first time. False: it could not be written.
    bool begin(const Digest&, const Choice&);
    // For what must be written while the process dies; -1 if there is none. What to write is in the two functions
    // below.
    [[nodiscard]] int descriptor() const { return m_descriptor; }
    // It ran, or failed in an orderly way: earlier deaths were not its fault.
    void survived(const Digest&, const Choice&);
    // It left an error on the context, which will end the process.
    void left_sticky_error(int code);
    // The run is over. A mark that says how a candidate ended it stays.
    void end();

  private:
    using Key = std::pair<std::string, std::string>;
    void look();
    bool make_file();

    FileSystem& m_files;
    Clock& m_clock;
    std::string m_cache_path;
    std::string m_own_path;  // empty: none
    int m_descriptor = -1;
    bool m_keeps_own = false;
    bool m_has_looked = false;
    bool m_cannot_write = false;
    std::map<Key, std::vector<std::string>> m_dead;  // paths by digest and choice
};

}  // namespace cudnn_tune::cache
