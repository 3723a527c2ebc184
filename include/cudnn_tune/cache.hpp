// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reads cache files of cudnn-tune: what was measured for which convolution, and what was chosen.
///
/// Needs C++17 and `libcudnn_tune_cache.a`: `find_package(cudnn_tune)` and link `cudnn_tune::cache`, or
/// `pkg-config --cflags --libs cudnn_tune_cache`. No CUDA, no cuDNN and no GPU are needed.
///
/// Reading never changes a file, takes no lock, and may go on while programs write to it. What a file holds is never
/// trusted: a damaged line is left out and counted. The format is described in FORMAT.md.
///
/// Times are in nanoseconds, sizes in bytes. Everything that is returned is a copy that belongs to the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace cudnn_tune {

/// Thrown by CacheFile, with a sentence that names the file.
class CacheError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// What an entry knows. `wanted` and `retired` entries hold no answer.
enum class EntryStatus : std::uint8_t {
    measured,
    provisional,  ///< measured in part, to be completed
    wanted,       ///< to be measured
    pinned,       ///< set by a person
    retired,      ///< withdrawn
};

/// An algorithm or an engine configuration that cuDNN offers for a problem.
struct EntryCandidate {
    std::string choice;                ///< "algo6_math1" (legacy API), "eng38_k2=1_k26=0" (graph API: engine and knobs)
    std::string not_run;               ///< why it was not measured; empty if it was
    int rank = 0;                      ///< position in cuDNN's own list, from 0
    int status = 0;                    ///< cudnnStatus_t; not 0: it cannot be used
    std::int64_t workspace_bytes = 0;  ///< that it needs
    std::int64_t time_ns = -1;         ///< median of its run times; -1: not measured
    std::int64_t spread_ns = -1;       ///< median absolute deviation of them; -1: fewer than two
    int nb_samples = 0;                ///< run times that were measured
    std::int64_t build_ns = -1;        ///< what building its plan took; -1: not measured
    int determinism = 0;               ///< legacy API: cudnnDeterminism_t
    std::uint32_t numerical_notes = 0;  ///< graph API: bit n is cudnnBackendNumericalNote_t n
    std::uint32_t behavior_notes = 0;   ///< graph API: bit n is cudnnBackendBehaviorNote_t n

    [[nodiscard]] bool is_measured() const { return time_ns >= 0; }
};

/// A problem with everything that is known about it.
struct CacheEntry {
    std::string digest;       ///< of the key: 32 hexadecimal digits
    std::string problem;      ///< the key: direction, tensors and convolution,
    std::string api;          ///< what only one of cuDNN's two APIs knows,
    std::string environment;  ///< and cuDNN's version and the GPU
    int revision = 1;         ///< the entry of the highest revision is the one in force
    EntryStatus status = EntryStatus::measured;
    std::vector<EntryCandidate> candidates;  ///< in order of preference: the first measured one is what is served first
    std::optional<std::size_t> heuristic;    ///< index in `candidates` of cuDNN's own first usable choice
    std::int64_t tuning_ns = 0;              ///< what measuring took
    std::string when;                        ///< UTC, "2026-11-29T12:00:00Z"
    std::string by;                          ///< the program that wrote it, with its version

    /// The first measured candidate in order of preference, or null. Points into this object.
    [[nodiscard]] const EntryCandidate* tuned() const;
};

/// A cache file that is open for reading, with the files in `<cache>.d/` that belong to it. An object may be used by
/// one thread at a time; several objects may read the same file. It keeps the file open, and of its content only where
/// each entry lies (about 50 bytes an entry).
class CacheFile {
  public:
    /// Opens the file and reads it once.
    /// \throws CacheError if it cannot be read, everybody may write to it and it belongs to somebody else, or it is no
    ///         cache file. An empty file is one.
    explicit CacheFile(const std::string& path);
    ~CacheFile();
    CacheFile(CacheFile&&) noexcept;
    CacheFile& operator=(CacheFile&&) noexcept;

    /// The entry in force with this key, or nothing. The three texts must equal those of the entry.
    [[nodiscard]] std::optional<CacheEntry> find(const std::string& problem, const std::string& api,
                                                 const std::string& environment);

    /// Calls `visit` with every entry in force, in the order of the file as it is now; stops if it returns false.
    /// Exceptions of `visit` come through.
    /// \returns how many damaged lines the file has; each was left out.
    /// \throws CacheError if the file can no longer be read.
    std::size_t for_each(const std::function<bool(const CacheEntry&)>& visit) const;

    /// Lets find() see what was written since the file was opened.
    /// \returns true if there was anything.
    bool refresh();

  private:
    struct State;
    std::unique_ptr<State> m_state;
};

}  // namespace cudnn_tune
