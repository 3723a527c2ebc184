// SPDX-License-Identifier: Apache-2.0
// Compile once, ever: answers NVRTC's functions for programs whose binary is known, and keeps what is compiled.
//
// A program is always created in the real library, which copies its text and checks the arguments: making it only when
// needed would have to copy the text too (both take 1.5 to 4 ms for 4 MB), and a real handle stays right in functions
// that are not wrapped. Only the compilation is skipped. What a skipped program cannot answer from its entry compiles
// it for real then; what the entry holds goes on being answered from it, so that sizes and bytes always fit.
//
// Any thread may call anything. No lock is held across a compilation, a file access or a call of NVRTC, and a fork
// finds the lock free, so a child can go on; it forgets which compilations other threads had in progress. Everything
// here may throw std::bad_alloc; the wrappers (nvrtc_wrapper.cpp) then make the real call.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "compile/kernel_store.hpp"
#include "compile/nvrtc_library.hpp"
#include "util/settings.hpp"

namespace cudnn_tune::compile {

struct Counters {
    std::uint64_t asked = 0;     // compilations that cuDNN asked for
    std::uint64_t saved = 0;     // answered without compiling
    std::uint64_t compiled = 0;  // really done, with success
    std::uint64_t failed = 0;
    std::uint64_t not_keepable = 0;  // of the compiled: read files, or the compiler had options of its own
    std::uint64_t stored = 0;        // files written
    double saved_s = 0;              // what the saved ones took when they were compiled
    std::uint64_t saved_bytes = 0;   // binaries handed out without compiling
};

struct CompileOptions {
    std::vector<std::string> system_cache_paths;  // their kernels are only read, in order, after the own ones
    StoreOptions store;
    // How long a thread waits for another that compiles the same program before it compiles for itself: well above the
    // 0.2 to 1 s that one takes, in case the other thread was stopped.
    std::int64_t longest_wait_ns = std::int64_t{5} * 1'000'000'000;
    // Entries kept in memory: a process compiles the same few programs again and again, also if nothing can be stored.
    std::int64_t memory_limit_bytes = std::int64_t{64} << 20;
};

// As the environment says.
[[nodiscard]] CompileOptions compile_options(const Settings&);

// `<cache>.kernels`, absolute, and beside the file itself if the cache's path is a symbolic link.
[[nodiscard]] std::string kernel_directory(FileSystem&, const std::string& cache_path);

// A question that NVRTC answers with a size and with bytes, and where an entry holds the answer.
struct Output {
    std::optional<std::string> KernelEntry::*section;
    NvrtcOutput NvrtcFunctions::*real;
};
// A log is kept to answer for it; one beyond this is not worth a file of its size.
inline constexpr std::size_t k_most_log_bytes = 65536;

inline constexpr Output k_cubin{&KernelEntry::cubin, &NvrtcFunctions::cubin};
inline constexpr Output k_ptx{&KernelEntry::ptx, &NvrtcFunctions::ptx};
inline constexpr Output k_ltoir{&KernelEntry::ltoir, &NvrtcFunctions::ltoir};
inline constexpr Output k_log{&KernelEntry::log, &NvrtcFunctions::log};

class CompileCache {
  public:
    // Has no effect before the first compilation. `settings.compile_mode` off, or no cache: wrap() gives back `real`.
    CompileCache(const Settings&, CompileOptions, FindSymbolFn, FileSystem&, Clock&);
    // For tests: wrappers that were handed out must not be called any more. The engine never destroys it.
    ~CompileCache();
    CompileCache(const CompileCache&) = delete;
    CompileCache& operator=(const CompileCache&) = delete;

    // What dlsym is to return for the NVRTC function `name`: a wrapper, or `real` for names that are not wrapped, for
    // an unusable library, and for more libraries than there are wrappers. One CompileCache of a process can do this.
    [[nodiscard]] void* wrap(const char* name, void* real) noexcept;
    [[nodiscard]] bool usable() const noexcept { return m_usable.load(std::memory_order_relaxed); }
    [[nodiscard]] Counters counters() const noexcept;
    // The own directory, for `doctor`.
    [[nodiscard]] KernelStore& store() { return m_store; }

    // Called by the wrappers, after their checks of the arguments.
    abi::NvrtcResult create(const NvrtcLibrary&, abi::NvrtcProgram*, const ProgramText&);
    abi::NvrtcResult destroy(const NvrtcLibrary&, abi::NvrtcProgram*);
    abi::NvrtcResult compile(const NvrtcLibrary&, abi::NvrtcProgram, int option_count, const char* const* options);
    abi::NvrtcResult add_name_expression(const NvrtcLibrary&, abi::NvrtcProgram, const char* expression);
    abi::NvrtcResult lowered_name(const NvrtcLibrary&, abi::NvrtcProgram, const char* expression, const char** lowered);
    abi::NvrtcResult size_of(const NvrtcLibrary&, abi::NvrtcProgram, const Output&, std::size_t*);
    abi::NvrtcResult bytes_of(const NvrtcLibrary&, abi::NvrtcProgram, const Output&, char*);

  private:
    using SharedEntry = std::shared_ptr<const KernelEntry>;

    enum class State : std::uint8_t {
        created,  // nothing to answer from
        skipped,  // answered from `entry`; the real program is not compiled, or was compiled late
        real,     // compiled by the real library, which answers
    };
    // Members but `text` are guarded by m_mutex.
    struct Program {
        explicit Program(const ProgramText& given) : text(given) {}
        const ProgramRead text;
        std::vector<std::string> name_expressions;
        std::vector<std::string> options;
        State state = State::created;
        SharedEntry entry;
        bool compiled_late = false;
        bool learned = false;
    };
    using SharedProgram = std::shared_ptr<Program>;

    // A compilation in progress, which other threads can wait for.
    struct Flight {
        std::mutex mutex;
        std::condition_variable landed;
        bool done = false;
        SharedEntry entry;  // null if it failed
    };
    class Pilot;

    // What a question about a program needs to know, copied while the lock was held.
    struct Answer {
        SharedProgram program;
        State state = State::created;
        SharedEntry entry;
    };
    [[nodiscard]] Answer answer_for(abi::NvrtcProgram);
    [[nodiscard]] SharedProgram find_program(abi::NvrtcProgram);
    [[nodiscard]] SharedEntry look_up(const ProgramKey&);
    void remember(const SharedEntry&);
    void save(const KernelEntry&);
    [[nodiscard]] SharedEntry join(const ProgramKey&, std::shared_ptr<Flight>& mine);
    abi::NvrtcResult compile_and_keep(const NvrtcLibrary&, abi::NvrtcProgram, Program&, const ProgramKey&,
                                      std::vector<std::string> options, Pilot&);
    [[nodiscard]] abi::NvrtcResult compile_late(const NvrtcLibrary&, abi::NvrtcProgram, Program&, const KernelEntry&);
    void learn(Program&, const KernelEntry&, const Output&, const char* bytes, std::size_t size);
    void count_saved(const KernelEntry&);

    // A fork waits for the lock, so that the child finds it free and everything in order.
    static void before_fork() noexcept;
    static void after_fork_in_parent() noexcept;
    static void after_fork_in_child() noexcept;
    static void watch_forks();

    CompileMode m_mode;
    CompileOptions m_options;
    FindSymbolFn m_find;
    Clock& m_clock;
    KernelStore m_store;
    std::vector<std::unique_ptr<KernelStore>> m_read_only_stores;

    std::mutex m_mutex;                // of what follows
    std::atomic<bool> m_usable{true};  // false in a child that found the lock held
    std::unordered_map<abi::NvrtcProgram, SharedProgram> m_programs;
    std::unordered_map<ProgramKey, SharedEntry, ProgramKeyHash> m_entries;
    std::int64_t m_entry_bytes = 0;
    std::unordered_map<ProgramKey, std::shared_ptr<Flight>, ProgramKeyHash> m_flights;

    struct AtomicCounters {
        std::atomic<std::uint64_t> asked{0};
        std::atomic<std::uint64_t> saved{0};
        std::atomic<std::uint64_t> compiled{0};
        std::atomic<std::uint64_t> failed{0};
        std::atomic<std::uint64_t> not_keepable{0};
        std::atomic<std::uint64_t> stored{0};
        std::atomic<std::int64_t> saved_ns{0};
        std::atomic<std::uint64_t> saved_bytes{0};
    };
    AtomicCounters m_counters;
};

}  // namespace cudnn_tune::compile
