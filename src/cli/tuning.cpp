// SPDX-License-Identifier: Apache-2.0
#include "cli/tuning.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <memory>
#include <sstream>

#include "cache/cache_table.hpp"
#include "cli/command.hpp"
#include "cli/entry_summary.hpp"
#include "cli/interrupt.hpp"
#include "cli/library_files.hpp"
#include "cli/python_packages.hpp"
#include "cli/replay_worker.hpp"
#include "util/clock.hpp"

namespace cudnn_tune::cli {
namespace {

namespace fs = std::filesystem;

double seconds_now() { return static_cast<double>(system_clock().monotonic_ns()) * 1e-9; }

// cuDNN's other libraries, and those of CUDA that it loads by name, lie beside it; in Python's packages in folders
// beside its folder.
std::string library_path_for(const std::string& cudnn) {
    const char* const inherited = std::getenv("LD_LIBRARY_PATH");
    std::string path = inherited != nullptr ? inherited : "";
    if (cudnn.find('/') == std::string::npos) {
        return path;
    }
    const fs::path folder = fs::absolute(cudnn).parent_path();
    std::string own = folder.string();
    std::error_code error;
    for (const fs::directory_entry& sibling : fs::directory_iterator(folder.parent_path().parent_path(), error)) {
        if (const fs::path lib = sibling.path() / "lib"; lib != folder && fs::is_directory(lib, error)) {
            own += ":" + lib.string();
        }
    }
    return path.empty() ? own : own + ":" + path;
}

class Tuning {
  public:
    Tuning(const TuningRequest& request, const std::function<void(const TuningState&)>& progress)
        : m_request(request), m_progress(progress) {
        cache::CacheOptions options;
        options.path = request.cache_path;
        options.read_only = true;
        auto opened = cache::Cache::open(std::move(options));
        if (!opened) {
            throw Failure(k_exit_failed, opened.error().message);
        }
        m_cache = std::move(*opened);
        prepare_command();
    }

    TuningState run() {
        const double started_s = seconds_now();
        for (const std::string& gpu : gpus()) {
            m_seats.push_back({gpu, start_worker(gpu), {}, 0});
        }
        m_state.nb_gpus = m_seats.size();
        choose_problems();
        const InterruptWatch watch;
        while (!m_waiting.empty() || std::ranges::any_of(m_seats, &Seat::is_busy)) {
            m_state.seconds = seconds_now() - started_s;
            m_state.is_interrupted = InterruptWatch::was_interrupted();
            m_state.is_out_of_time = m_request.time_limit_s > 0 && m_state.seconds > m_request.time_limit_s;
            if (m_state.is_interrupted || m_state.is_out_of_time) {
                break;
            }
            give_out();
            m_progress(m_state);
            wait();
            collect();
        }
        m_state.current.clear();
        m_state.seconds = seconds_now() - started_s;
        m_progress(m_state);
        return std::move(m_state);
    }

  private:
    struct Seat {
        std::string gpu;
        std::optional<ReplayWorker> worker;  // nothing: it could not be started again
        TuningProblem problem;
        double asked_s = 0;  // 0: idle
        [[nodiscard]] bool is_busy() const { return asked_s > 0; }
    };

    void prepare_command() {
        const auto directory = own_directory();
        const auto shim = directory ? find_shim(*directory) : directory;
        const auto program = directory ? find_replay(*directory) : directory;
        for (const Result<std::string>* found : {&directory, &shim, &program}) {
            if (!*found) {
                throw Failure(k_exit_failed, found->error().message);
            }
        }
        m_program = *program;
        const char* const preload = std::getenv("LD_PRELOAD");
        m_environment = {{"LD_PRELOAD", preload_list(preload != nullptr ? preload : "", *shim)},
                         {"CUDNN_TUNE_CACHE", m_request.cache_path},
                         {"CUDNN_TUNE_MODE", m_request.tunes_again ? "retune" : "tune"},
                         // No other thread of a worker can be disturbed by it.
                         {"CUDNN_TUNE_SECOND_LIST", "on"},
                         // The second number is a process's: no limit here.
                         {"CUDNN_TUNE_BUDGET", std::to_string(m_request.problem_budget_s) + ",1000000000"}};
        if (!m_request.effort.empty()) {
            m_environment["CUDNN_TUNE_EFFORT"] = m_request.effort;
        }
    }

    // One name a visible GPU for CUDA_VISIBLE_DEVICES. Decides for a cuDNN library, too: the first that can be loaded.
    std::vector<std::string> gpus() {
        std::vector<std::string> libraries{m_request.cudnn};
        if (m_request.cudnn.empty()) {
            libraries = {"libcudnn.so.9", look_at_python("python3").cudnn};
        }
        std::string introduction;
        std::string trouble;
        for (const std::string& library : libraries) {
            if (library.empty() || !introduction.empty()) {
                continue;
            }
            m_command = {m_program, "--cudnn", library};
            m_environment["LD_LIBRARY_PATH"] = library_path_for(library);
            std::vector<std::string> command = m_command;
            command.emplace_back("--gpus");
            const auto lister =
                ReplayWorker::start(command, {{"LD_LIBRARY_PATH", m_environment["LD_LIBRARY_PATH"]}}, 60);
            introduction = lister ? lister->introduction() : "";
            trouble = lister || !trouble.empty() ? trouble : lister.error().message;
        }
        if (introduction.empty() && !trouble.empty()) {
            throw Failure(k_exit_failed, "no GPU can be used: " + trouble);
        }
        std::vector<std::string> names;
        std::istringstream list(introduction);
        for (std::string name; std::getline(list, name, ',');) {
            names.push_back(name);
        }
        if (names.empty()) {
            throw Failure(k_exit_failed, "there is no GPU here, or CUDA_VISIBLE_DEVICES hides it");
        }
        return names;
    }

    ReplayWorker start_worker(const std::string& gpu) {
        ReplayWorker::Environment environment = m_environment;
        environment["CUDA_VISIBLE_DEVICES"] = gpu;
        // Loading the driver and cuDNN takes some seconds, on a cold network file system a minute.
        auto worker = ReplayWorker::start(m_command, environment, 180);
        if (!worker) {
            throw Failure(k_exit_failed, worker.error().message);
        }
        return std::move(*worker);
    }

    void choose_problems() {
        for (const TuningProblem& problem : m_request.problems) {
            const bool is_here = problem.environment.empty() || std::ranges::any_of(m_seats, [&](const Seat& seat) {
                                     return seat.worker->introduction() == problem.environment;
                                 });
            is_here ? m_waiting.push_back(problem) : static_cast<void>(++m_state.nb_elsewhere);
        }
        m_state.nb_problems = m_waiting.size();
    }

    void give_out() {
        for (Seat& seat : m_seats) {
            if (seat.is_busy() || !seat.worker || m_waiting.empty()) {
                continue;
            }
            seat.problem = m_waiting.front();
            m_waiting.pop_front();
            m_state.current = seat.problem.problem;
            seat.asked_s = seconds_now();
            if (!seat.worker->ask(seat.problem.problem, seat.problem.api)) {
                lose(seat, "the replay program is gone");
            }
        }
        if (std::ranges::none_of(m_seats, [](const Seat& seat) { return seat.worker.has_value(); })) {
            throw Failure(k_exit_failed, "the replay program died and cannot be started again");
        }
    }

    void wait() {
        std::vector<pollfd> waiting;
        for (const Seat& seat : m_seats) {
            if (seat.is_busy()) {
                waiting.push_back({seat.worker->descriptor(), POLLIN, 0});
            }
        }
        ::poll(waiting.data(), waiting.size(), 250);
    }

    void collect() {
        for (Seat& seat : m_seats) {
            if (!seat.is_busy()) {
                continue;
            }
            const auto answer = seat.worker->take_answer();
            // A budget is checked between launches, and the heuristics and slow builds come on top.
            const double patience_s = 4 * m_request.problem_budget_s + 60;
            if (!answer && seconds_now() - seat.asked_s > patience_s) {
                seat.worker->kill();
                lose(seat, "it took longer than " + std::to_string(static_cast<int>(patience_s)) + " seconds");
            } else if (answer && answer->how == ReplayAnswer::How::died) {
                lose(seat, "the replay program " + answer->why);
            } else if (answer) {
                finish(seat, *answer);
            }
        }
    }

    void finish(Seat& seat, const ReplayAnswer& answer) {
        ++m_state.nb_done;
        seat.asked_s = 0;
        const key::KeyText key{seat.problem.problem, seat.problem.api, seat.worker->introduction()};
        m_cache->refresh();
        const auto record = m_cache->find(key, key.digest());
        if (answer.how == ReplayAnswer::How::failed) {
            fail(seat.problem, answer.why);
        } else if (record == nullptr || record->status == cache::RecordStatus::wanted) {
            fail(seat.problem, "it was not measured; CUDNN_TUNE_LOG=info says why");
        } else {
            ++m_state.nb_measured;
            const EntrySummary summary = summarize(*record);
            if (summary.tuned != nullptr && summary.heuristic != nullptr && summary.heuristic->measured()) {
                m_state.heuristic_ns += summary.heuristic->time_ns;
                m_state.tuned_ns += summary.tuned->time_ns;
            }
        }
    }

    void fail(const TuningProblem& problem, const std::string& why) {
        m_state.failures.push_back({problem.problem, problem.api, why});
    }

    // One problem is lost, and the next ones get a new program.
    void lose(Seat& seat, const std::string& why) {
        ++m_state.nb_done;
        m_state.losses.push_back({seat.problem.problem, seat.problem.api, why});
        seat.asked_s = 0;
        seat.worker.reset();
        if (m_waiting.empty()) {
            return;
        }
        try {
            seat.worker.emplace(start_worker(seat.gpu));
        } catch (const Failure& failure) {
            warn(std::string(failure.what()) + "; GPU " + seat.gpu + " is left out");
        }
    }

    const TuningRequest& m_request;
    const std::function<void(const TuningState&)>& m_progress;
    std::unique_ptr<cache::Cache> m_cache;
    std::string m_program;
    std::vector<std::string> m_command;
    ReplayWorker::Environment m_environment;
    std::vector<Seat> m_seats;
    std::deque<TuningProblem> m_waiting;
    TuningState m_state;
};

}  // namespace

TuningState run_tuning(const TuningRequest& request, const std::function<void(const TuningState&)>& progress) {
    return Tuning(request, progress).run();
}

}  // namespace cudnn_tune::cli
