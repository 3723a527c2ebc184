// SPDX-License-Identifier: Apache-2.0
// A program of the legacy API that does what its arguments say, in their order, and prints a line for each answer.
// It knows nothing of cudnn-tune. The arguments:
//   shape=N math=N type=N direction=fwd|dgrad|wgrad   the problem of the questions that follow
//   mode=N compute=N format=N groups=N dilation=N strided   the same
//   reset                 the convolution descriptor that was asked with is set again, by what was said since
//   null=WHAT,…           these arguments of the questions are null: handle a b conv c returned results workspace
//   wrong                 the questions get some descriptors of another problem, wrong=none ends that
//   get=N find=N findex=N,BYTES get6=PREFERENCE,LIMIT   a question; N is the count that is asked for
//   run                   the convolution, with the algorithm that the last question gave first
//   launch                the same without looking at the output
//   prepare enqueue       run in two steps: memory, and the call alone
//   keep                  the questions that follow are about the same descriptors, and the memory stays
//   pick=N                the algorithm of its entry N instead, as if that had been first
//   algo=N                an algorithm of the program's own
//   alpha=F beta=F        of the runs that follow
//   misalign=x|w|y|z|bias|workspace|none   this tensor lies 4 bytes further; z and bias are those of `fused`
//   inplace=yes|no        the result is written over the first operand
//   workspace=BYTES|none  what the runs bring, whatever the answer says
//   null_workspace        the runs say that, and bring a null pointer
//   math_of=entry|program the runs set the entry's math type, or leave what the question was asked with
//   fused=relu|identity|tanh|clipped   run, but cudnnConvolutionBiasActivationForward; alpha2=F of z, z=own|result;
//                         nan=0|1 is the activation's
//   size                  cudnnGetConvolution*WorkspaceSize for that algorithm
//   new_handle            destroys the handle and makes one
//   device=N              another GPU, with a handle of its own
//   shapes=N,QUESTION     the question for N different problems
//   stream=blocking|non_blocking|legacy   of the handle
//   begin end             of a capture of that stream; other_begin other_end: of a stream of another kind
//   check                 device, stream and capture mode of the thread, and what became of the memory
//   error=make error=show a failing call of the program's own; cudnnGetLastErrorString
//   capture_while=N,QUESTION  a thread captures in a loop while this one asks for N different problems
//   shared=N,QUESTION     N threads with one handle ask for N different problems
//   move_while=N,QUESTION a thread moves the handle from stream to stream while this one asks for N problems
//   sticky                what the driver says now
//   threads=N,same|different,QUESTION
//   run_threads=N,M       N threads with handles of their own ask and run the convolution M times each
//   forks=N,QUESTION      N children, one after the other, ask what is known while other threads ask new questions
// and those of interpreter.hpp.
#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "legacy_client.hpp"

namespace victim {
namespace {

// All threads ask at the same time; what they got is printed in the order of their numbers.
void ask_in_threads(const ProblemOptions& options, Direction direction, std::size_t count, bool same,
                    const Question& question) {
    std::vector<std::string> answers(count);
    std::vector<std::thread> threads;
    std::atomic<std::size_t> ready{0};
    for (std::size_t i = 0; i < count; ++i) {
        threads.emplace_back([&, i] {
            open_device();
            Client client;
            client.options = options;
            client.direction = direction;
            client.options.shape += same ? 0 : static_cast<int>(i);
            ready.fetch_add(1);
            while (ready.load() < count) {
                std::this_thread::yield();
            }
            answers[i] = client.ask(question);
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (const std::string& answer : answers) {
        say(answer);
    }
}

void run_in_threads(const ProblemOptions& options, int count, int runs) {
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) {
        threads.emplace_back([&] {
            open_device();
            Client client;
            client.options = options;
            static_cast<void>(client.ask({"get", {8, 0}}));
            for (int run = 0; run < runs; ++run) {
                client.run(true);
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

// As a program does that has one handle for all of its threads.
void ask_with_one_handle(const Client& owner, std::size_t count, const Question& question) {
    std::vector<std::string> answers(count);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < count; ++i) {
        threads.emplace_back([&, i] {
            open_device();
            Client client;
            client.options = owner.options;
            client.options.shape += static_cast<int>(i);
            client.direction = owner.direction;
            client.use_handle_of(owner);
            answers[i] = client.ask(question);
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (const std::string& answer : answers) {
        say(answer);
    }
}

bool is_question(const std::string& word) {
    return word == "get" || word == "find" || word == "findex" || word == "get6";
}

class LegacyInterpreter final : public Interpreter {
  public:
    using Interpreter::Interpreter;

  private:
    bool step(const std::string& name, const std::string& value) override {
        const std::vector<std::string> parts = split(value, ',');
        if (is_question(name)) {
            say(m_client.ask(parse_question(name, parts)));
        } else if (name == "shape") {
            m_client.options.shape = std::stoi(value);
        } else if (name == "math") {
            m_client.options.math = std::stoi(value);
        } else if (name == "type") {
            m_client.options.type = std::stoi(value);
        } else if (set_convolution_option(name, value)) {
            return true;
        } else if (name == "reset") {
            m_client.reset_convolution();
        } else if (name == "direction") {
            m_client.direction = value == "fwd"     ? Direction::forward
                                 : value == "dgrad" ? Direction::backward_data
                                                    : Direction::backward_filter;
        } else if (name == "null") {
            m_client.nulls = {parts.begin(), parts.end()};
        } else if (name == "wrong") {
            m_client.wrong = value.empty();
        } else if (name == "run" || name == "launch") {
            m_client.run(name == "run");
        } else if (name == "keep") {
            m_client.keeps_problem = true;
        } else if (name == "prepare") {
            m_client.prepare();
        } else if (name == "enqueue") {
            std::printf("enqueue: status=%d\n", m_client.enqueue());
        } else if (name == "fused") {
            m_client.run_fused(value);
        } else if (name == "size") {
            m_client.size();
        } else if (name == "pick") {
            m_client.pick(std::stoull(value));
        } else if (name == "algo") {
            m_client.pick_own(std::stoi(value));
        } else if (name == "new_handle") {
            m_client.make_new_handle();
        } else if (set_run_option(name, value)) {
            return true;
        } else if (name == "shapes") {
            ask_shapes(parts);
        } else if (name == "device") {
            open_device(std::stoi(value));
            m_client.open_handle();
        } else if (name == "capture_while") {
            capture_while(parts);
        } else if (name == "threads") {
            ask_in_threads(m_client.options, m_client.direction, std::stoull(parts.at(0)), parts.at(1) == "same",
                           parse_question(parts.at(2), {parts.begin() + 3, parts.end()}));
        } else if (name == "shared") {
            ask_with_one_handle(m_client, std::stoull(parts.at(0)),
                                parse_question(parts.at(1), {parts.begin() + 2, parts.end()}));
        } else if (name == "run_threads") {
            run_in_threads(m_client.options, std::stoi(parts.at(0)), std::stoi(parts.at(1)));
        } else if (name == "forks") {
            ask_in_children(parts);
        } else if (name == "stream") {
            m_client.use_stream(value);
        } else if (name == "begin") {
            m_client.begin_capture();
        } else if (name == "end") {
            m_client.end_capture();
        } else if (name == "other_begin") {
            m_client.begin_other_capture();
        } else if (name == "other_end") {
            m_client.end_other_capture();
        } else if (name == "check") {
            m_client.check();
        } else if (name == "sticky") {
            say("sticky: " + std::to_string(cuCtxSynchronize()));
        } else if (name == "move_while") {
            move_while(parts);
        } else if (name == "error") {
            value == "make" ? m_client.make_error() : Client::show_error();
        } else {
            return false;
        }
        return true;
    }

    bool set_convolution_option(const std::string& name, const std::string& value) {
        ProblemOptions& options = m_client.options;
        if (name == "mode") {
            options.mode = std::stoi(value);
        } else if (name == "compute") {
            options.compute = std::stoi(value);
        } else if (name == "format") {
            options.format = std::stoi(value);
        } else if (name == "groups") {
            options.groups = std::stoi(value);
        } else if (name == "dilation") {
            options.dilation = std::stoi(value);
        } else if (name == "strided") {
            options.is_strided = true;
        } else {
            return false;
        }
        return true;
    }

    bool set_run_option(const std::string& name, const std::string& value) {
        Client::RunOptions& options = m_client.run_options;
        if (name == "alpha") {
            options.alpha = std::stod(value);
        } else if (name == "beta") {
            options.beta = std::stod(value);
        } else if (name == "misalign") {
            options.misaligned = value;
        } else if (name == "inplace") {
            options.in_place = value == "yes";
        } else if (name == "workspace") {
            options.workspace_bytes = value == "none" ? std::nullopt : std::optional<std::size_t>(std::stoull(value));
        } else if (name == "alpha2") {
            options.alpha2 = std::stod(value);
        } else if (name == "nan") {
            options.nan_propagation = std::stoi(value);
        } else if (name == "null_workspace") {
            options.has_null_workspace = true;
        } else if (name == "z") {
            options.z_is_result = value == "result";
        } else if (name == "math_of") {
            options.math_of_entry = value == "entry";
        } else {
            return false;
        }
        return true;
    }

    void ask_shapes(const std::vector<std::string>& parts) {
        const Question question = parse_question(parts.at(1), {parts.begin() + 2, parts.end()});
        for (int i = 0; i < std::stoi(parts.at(0)); ++i) {
            m_client.options.shape = i;
            say(m_client.ask(question));
        }
    }

    // A child that hangs is ended, and then not right.
    void ask_in_children(const std::vector<std::string>& parts) {
        const Question question = parse_question(parts.at(1), {parts.begin() + 2, parts.end()});
        m_client.options.shape = 0;
        const std::string known = m_client.ask(question);
        std::atomic<bool> stop{false};
        std::vector<std::thread> busy;
        for (int i = 0; i < 2; ++i) {
            busy.emplace_back([&, i] {
                open_device();
                Client client;
                for (int shape = 1 + i; !stop.load(); shape = 1 + (shape + 2) % 40) {
                    client.options.shape = shape;
                    (void)client.ask(question);
                }
            });
        }
        int right = 0;
        for (int i = 0; i < std::stoi(parts.at(0)); ++i) {
            const pid_t child = fork();
            require(child >= 0, "fork");
            if (child == 0) {
                alarm(30);
                _exit(m_client.ask(question) == known ? 0 : 1);
            }
            int status = 0;
            waitpid(child, &status, 0);
            right += status == 0 ? 1 : 0;
        }
        stop.store(true);
        for (std::thread& thread : busy) {
            thread.join();
        }
        say("forks: " + std::to_string(right) + " of " + parts.at(0) + " children were right");
    }

    // The stream is one that nobody can be asked about, as PyTorch's are.
    void capture_while(const std::vector<std::string>& parts) {
        std::atomic<bool> stop{false};
        std::atomic<int> captured{0};
        bool valid = true;
        std::thread capturer([&] {
            open_device();
            abi::Stream stream = nullptr;
            require(cuStreamCreate(&stream, 1) == 0, "cuStreamCreate");
            while (!stop.load()) {
                void* graph = nullptr;
                require(cuStreamBeginCapture_v2(stream, 0) == 0, "beginning a capture");
                captured.fetch_add(1);
                std::this_thread::yield();
                valid = cuStreamEndCapture(stream, &graph) == 0 && graph != nullptr && valid;
            }
        });
        while (captured.load() == 0) {
            std::this_thread::yield();
        }
        ask_shapes(parts);
        stop.store(true);
        capturer.join();
        say(valid ? "captures: all valid" : "captures: some are not valid");
    }

    void move_while(const std::vector<std::string>& parts) {
        std::atomic<bool> stop{false};
        std::thread mover([&] {
            open_device();
            m_client.move_about(stop);
        });
        ask_shapes(parts);
        stop.store(true);
        mover.join();
        m_client.use_stream("legacy");
    }

    Client m_client;
};

void interpret(std::vector<std::string> words) {
    fork_early(words);
    open_device();
    LegacyInterpreter(std::move(words)).run();
    std::fflush(stdout);
}

#ifdef VICTIM_IN_DESTRUCTOR
// The questions come while static objects are destroyed.
struct LastWish {
    std::vector<std::string> words;
    ~LastWish() { interpret(std::move(words)); }
} g_last_wish;
#endif

}  // namespace
}  // namespace victim

#if defined(VICTIM_IN_CONSTRUCTOR)
// glibc hands a constructor the arguments of main.
__attribute__((constructor)) static void before_main(int argc, char** argv, char**) {
    victim::interpret({argv + 1, argv + argc});
}
#elif defined(VICTIM_IN_DESTRUCTOR)
int main(int argc, char** argv) { victim::g_last_wish.words = {argv + 1, argv + argc}; }
#else
int main(int argc, char** argv) { victim::interpret({argv + 1, argv + argc}); }
#endif
