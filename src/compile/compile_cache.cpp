// SPDX-License-Identifier: Apache-2.0
#include "compile/compile_cache.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "util/log.hpp"

namespace cudnn_tune::compile {
namespace {

using abi::k_nvrtc_success;
using abi::NvrtcProgram;
using abi::NvrtcResult;

constexpr std::string_view k_directory_suffix = ".kernels";

const char* environment(const char* name) { return std::getenv(name); }

std::optional<std::string> take(const NvrtcOutput& output, NvrtcProgram program, std::size_t most_bytes) {
    std::size_t size = 0;
    if (!output.exists() || output.size(program, &size) != k_nvrtc_success || size > most_bytes) {
        return std::nullopt;
    }
    std::string bytes(size, '\0');
    if (size > 0 && output.bytes(program, bytes.data()) != k_nvrtc_success) {
        return std::nullopt;
    }
    return bytes;
}

// Everything that a program which is compiled like this one asks as a rule. PTX beside a binary is several times its
// size and seldom asked; it is added when it is (CompileCache::learn).
void take_outputs(const NvrtcLibrary& library, NvrtcProgram program, const std::vector<std::string>& name_expressions,
                  KernelEntry& entry) {
    constexpr std::size_t no_limit = SIZE_MAX;
    entry.cubin = take(library.real.cubin, program, no_limit);
    if (entry.cubin.value_or("").empty()) {
        entry.ptx = take(library.real.ptx, program, no_limit);
    }
    entry.ltoir = take(library.real.ltoir, program, no_limit);
    entry.log = take(library.real.log, program, k_most_log_bytes);
    for (const std::string& expression : name_expressions) {
        const char* lowered = nullptr;
        if (library.real.lowered_name(program, expression.c_str(), &lowered) == k_nvrtc_success && lowered != nullptr) {
            entry.lowered_names.emplace_back(expression, lowered);
        }
    }
}

bool has_binary(const KernelEntry& entry) {
    return !entry.cubin.value_or("").empty() || !entry.ptx.value_or("").empty() || !entry.ltoir.value_or("").empty();
}

}  // namespace

CompileOptions compile_options(const Settings& settings) {
    CompileOptions options;
    options.store.writable =
        settings.compile_mode == CompileMode::on &&
        (settings.mode == Mode::tune || settings.mode == Mode::retune || settings.mode == Mode::record);
    options.system_cache_paths = settings.system_cache_paths;
    return options;
}

std::string kernel_directory(FileSystem& files, const std::string& cache_path) {
    const auto resolved = resolve_path(files, cache_path);
    if (resolved.ok()) {
        return *resolved + std::string(k_directory_suffix);
    }
    std::string directory = cache_path + std::string(k_directory_suffix);
    if (const auto current = files.real_path("."); !directory.starts_with('/') && current.ok()) {
        directory = *current + "/" + directory;  // the program may change its folder later
    }
    return directory;
}

// Tells the threads that wait for this compilation, also if it ends by an exception.
class CompileCache::Pilot {
  public:
    Pilot(CompileCache& cache, const ProgramKey& key) : m_cache(cache), m_key(key) {}
    ~Pilot() { land(nullptr); }
    Pilot(const Pilot&) = delete;
    Pilot& operator=(const Pilot&) = delete;

    std::shared_ptr<Flight> flight;  // null: nobody waits

    void land(SharedEntry entry) {
        const std::shared_ptr<Flight> landing = std::exchange(flight, nullptr);
        if (!landing) {
            return;
        }
        {
            const std::lock_guard lock(m_cache.m_mutex);
            const auto at = m_cache.m_flights.find(m_key);
            if (at != m_cache.m_flights.end() && at->second == landing) {
                m_cache.m_flights.erase(at);
            }
        }
        {
            const std::lock_guard lock(landing->mutex);
            landing->done = true;
            landing->entry = std::move(entry);
        }
        landing->landed.notify_all();
    }

  private:
    CompileCache& m_cache;
    const ProgramKey m_key;
};

CompileCache::CompileCache(const Settings& settings, CompileOptions options, FindSymbolFn find, FileSystem& files,
                           Clock& clock)
    : m_mode(settings.cache_path.empty() || settings.mode == Mode::off ? CompileMode::off : settings.compile_mode),
      m_options(std::move(options)),
      m_find(find),
      m_clock(clock),
      m_store(files, clock, kernel_directory(files, settings.cache_path), m_options.store) {
    StoreOptions read_only = m_options.store;
    read_only.writable = false;
    for (const std::string& path : m_options.system_cache_paths) {
        m_read_only_stores.push_back(
            std::make_unique<KernelStore>(files, clock, kernel_directory(files, path), read_only));
    }
}

Counters CompileCache::counters() const noexcept {
    Counters now;
    now.asked = m_counters.asked.load(std::memory_order_relaxed);
    now.saved = m_counters.saved.load(std::memory_order_relaxed);
    now.compiled = m_counters.compiled.load(std::memory_order_relaxed);
    now.failed = m_counters.failed.load(std::memory_order_relaxed);
    now.not_keepable = m_counters.not_keepable.load(std::memory_order_relaxed);
    now.stored = m_counters.stored.load(std::memory_order_relaxed);
    now.saved_s = static_cast<double>(m_counters.saved_ns.load(std::memory_order_relaxed)) * 1e-9;
    now.saved_bytes = m_counters.saved_bytes.load(std::memory_order_relaxed);
    return now;
}

void CompileCache::count_saved(const KernelEntry& entry) {
    m_counters.saved.fetch_add(1, std::memory_order_relaxed);
    m_counters.saved_ns.fetch_add(entry.compile_ns, std::memory_order_relaxed);
    m_counters.saved_bytes.fetch_add(static_cast<std::uint64_t>(entry.payload_bytes()), std::memory_order_relaxed);
}

CompileCache::SharedProgram CompileCache::find_program(NvrtcProgram handle) {
    const std::lock_guard lock(m_mutex);
    const auto at = m_programs.find(handle);
    return at != m_programs.end() ? at->second : nullptr;
}

CompileCache::Answer CompileCache::answer_for(NvrtcProgram handle) {
    const std::lock_guard lock(m_mutex);
    const auto at = m_programs.find(handle);
    return at != m_programs.end() ? Answer{at->second, at->second->state, at->second->entry} : Answer{};
}

CompileCache::SharedEntry CompileCache::look_up(const ProgramKey& key) {
    {
        const std::lock_guard lock(m_mutex);
        if (const auto at = m_entries.find(key); at != m_entries.end()) {
            return at->second;
        }
    }
    const auto load = [&](KernelStore& store) -> SharedEntry {
        auto entry = store.load(key);
        return entry.ok() ? std::make_shared<const KernelEntry>(std::move(*entry)) : nullptr;
    };
    SharedEntry found = load(m_store);
    for (std::size_t i = 0; i < m_read_only_stores.size() && !found; ++i) {
        found = load(*m_read_only_stores[i]);
    }
    if (found) {
        remember(found);
    }
    return found;
}

void CompileCache::remember(const SharedEntry& entry) {
    const std::int64_t bytes = entry->payload_bytes();
    const std::lock_guard lock(m_mutex);
    SharedEntry& place = m_entries[entry->key];
    const std::int64_t replaced_bytes = place ? place->payload_bytes() : 0;
    if (m_entry_bytes - replaced_bytes + bytes <= m_options.memory_limit_bytes) {
        m_entry_bytes += bytes - replaced_bytes;
        place = entry;
    } else if (!place) {
        m_entries.erase(entry->key);
    }
}

void CompileCache::save(const KernelEntry& entry) {
    if (m_store.save(entry).ok()) {
        m_counters.stored.fetch_add(1, std::memory_order_relaxed);
    }
}

// 1. Under the lock: if the entry has come meanwhile, take it; if nobody compiles this program, be the one who does.
// 2. Otherwise wait for that thread without the lock. It started earlier, so this takes no longer than compiling would.
// 3. If it fails, or takes longer than any compilation should, compile without others waiting: a failure has to be
//    this program's own, with its own log.
CompileCache::SharedEntry CompileCache::join(const ProgramKey& key, std::shared_ptr<Flight>& mine) {
    std::shared_ptr<Flight> other;
    {
        const std::lock_guard lock(m_mutex);
        if (const auto at = m_entries.find(key); at != m_entries.end()) {
            return at->second;
        }
        std::shared_ptr<Flight>& flight = m_flights[key];
        if (!flight) {
            flight = std::make_shared<Flight>();
            mine = flight;
            return nullptr;
        }
        other = flight;
    }
    std::unique_lock lock(other->mutex);
    other->landed.wait_for(lock, std::chrono::nanoseconds(m_options.longest_wait_ns), [&] { return other->done; });
    return other->entry;
}

NvrtcResult CompileCache::compile(const NvrtcLibrary& library, NvrtcProgram handle, int option_count,
                                  const char* const* given_options) {
    const SharedProgram program = find_program(handle);
    const bool readable = option_count >= 0 && (option_count == 0 || given_options != nullptr) &&
                          std::none_of(given_options, given_options + std::max(option_count, 0),
                                       [](const char* option) { return option == nullptr; });
    if (!program || !readable) {
        return library.real.compile(handle, option_count, given_options);
    }
    m_counters.asked.fetch_add(1, std::memory_order_relaxed);
    std::vector<std::string> options(given_options, given_options + option_count);
    std::vector<std::string> name_expressions;
    {
        const std::lock_guard lock(m_mutex);
        name_expressions = program->name_expressions;
        program->state = State::real;  // until an entry is found
        program->entry = nullptr;
        program->compiled_late = false;
    }
    if (reads_files(options) || has_compiler_environment(environment) || program->text.includes_existing_file()) {
        m_counters.not_keepable.fetch_add(1, std::memory_order_relaxed);
        const NvrtcResult result = library.real.compile(handle, option_count, given_options);
        (result == k_nvrtc_success ? m_counters.compiled : m_counters.failed).fetch_add(1, std::memory_order_relaxed);
        return result;
    }
    const ProgramKey key = program->text.key(options, name_expressions, library.compiler);
    Pilot pilot(*this, key);
    SharedEntry entry = look_up(key);
    if (!entry) {
        entry = join(key, pilot.flight);
    }
    if (!entry) {
        return compile_and_keep(library, handle, *program, key, std::move(options), pilot);
    }
    {
        const std::lock_guard lock(m_mutex);
        program->options = std::move(options);
        program->entry = entry;
        program->state = State::skipped;
    }
    count_saved(*entry);
    return k_nvrtc_success;
}

NvrtcResult CompileCache::compile_and_keep(const NvrtcLibrary& library, NvrtcProgram handle, Program& program,
                                           const ProgramKey& key, std::vector<std::string> options, Pilot& pilot) {
    const std::int64_t start_ns = m_clock.monotonic_ns();
    const NvrtcResult result = compile_with(library, handle, options);
    const std::int64_t duration_ns = m_clock.monotonic_ns() - start_ns;
    if (result != k_nvrtc_success) {
        m_counters.failed.fetch_add(1, std::memory_order_relaxed);
        return result;
    }
    m_counters.compiled.fetch_add(1, std::memory_order_relaxed);
    try {
        auto entry = std::make_shared<KernelEntry>();
        entry->key = key;
        entry->compiler = library.compiler;
        entry->program_name = program.text.name();
        entry->options = std::move(options);
        entry->compile_ns = duration_ns;
        std::vector<std::string> name_expressions;
        {
            const std::lock_guard lock(m_mutex);
            name_expressions = program.name_expressions;
        }
        take_outputs(library, handle, name_expressions, *entry);
        if (has_binary(*entry)) {
            {
                const std::lock_guard lock(m_mutex);
                program.entry = entry;
            }
            remember(entry);
            pilot.land(entry);
            save(*entry);
        }
    } catch (...) {
        log_debug("a compiled kernel is not kept: out of memory");
    }
    return result;
}

}  // namespace cudnn_tune::compile
