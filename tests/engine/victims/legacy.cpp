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
#include <cinttypes>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "interpreter.hpp"
#include "legacy_problem.hpp"

namespace victim {
namespace {

constexpr int k_most_results = 128;
constexpr unsigned char k_untouched = 0xee;

struct Question {
    std::string kind;
    std::vector<std::size_t> numbers;
};

Question parse_question(const std::string& kind, const std::vector<std::string>& numbers) {
    Question question{kind, {}};
    for (const std::string& number : numbers) {
        question.numbers.push_back(std::stoull(number));
    }
    question.numbers.resize(2);
    return question;
}

// What one thread of the program works with.
class Client {
  public:
    Client() { open_handle(); }

    // Without a GPU there is no handle.
    void open_handle() {
        if (cudnn().cudnnCreate(&m_handle) != 0) {
            m_handle = nullptr;
        }
    }

    void use_handle_of(const Client& other) { m_handle = other.m_handle; }

    struct RunOptions {
        double alpha = 1;
        double beta = 0;
        std::string misaligned = "none";
        bool in_place = false;
        std::optional<std::size_t> workspace_bytes;
        bool math_of_entry = true;
        double alpha2 = 0;
        bool z_is_result = false;
        bool has_null_workspace = false;
        int nan_propagation = 0;
    } run_options;
    ProblemOptions options;
    Direction direction = Direction::forward;
    std::set<std::string> nulls;
    bool wrong = false;
    bool keeps_problem = false;

    std::string ask(const Question& question) {
        if (!keeps_problem || m_problem == nullptr) {
            m_problem = std::make_unique<LegacyProblem>(options);
        }
        const LegacyProblem other({options.shape + 1, options.math, options.type});
        LegacyProblem::Triple d = m_problem->descriptors(direction);
        if (wrong) {
            // The only operand of backward data that differs between problems is the second one.
            (direction == Direction::backward_data ? d.b : d.a) =
                direction == Direction::backward_data ? other.y : other.x;
        }
        std::string text = question.kind + " " + std::to_string(static_cast<int>(direction)) + " " +
                           std::to_string(options.shape) + ":";
        if (question.kind == "get6") {
            return text + ask_single(question, d);
        }
        std::vector<abi::AlgoPerf> results(k_most_results);
        std::memset(static_cast<void*>(results.data()), k_untouched, results.size() * sizeof results[0]);
        int returned = -77;
        abi::AlgoPerf* const array = unless_null("results", results.data());
        int* const count = unless_null("returned", &returned);
        const int status =
            question.kind == "findex" ? find_ex(question, d, count, array) : call_array(question, d, count, array);
        m_best = results[0];
        m_results = results;
        return text + " status=" + std::to_string(status) + " returned=" + std::to_string(returned) + text_of(results);
    }

    void reset_convolution() const { m_problem->set_convolution(options); }
    void pick(std::size_t entry) { m_best = m_results.at(entry); }
    void pick_own(int algorithm) { m_best.algo = algorithm; }
    // Destroys the old one, so that its address may come again.
    void make_new_handle() {
        require(cudnn().cudnnDestroy(m_handle) == 0, "cudnnDestroy");
        open_handle();
    }

    void size() const {
        const LegacyProblem::Triple d = m_problem->descriptors(direction);
        const auto real = direction == Direction::forward ? cudnn().cudnnGetConvolutionForwardWorkspaceSize
                          : direction == Direction::backward_data
                              ? cudnn().cudnnGetConvolutionBackwardDataWorkspaceSize
                              : cudnn().cudnnGetConvolutionBackwardFilterWorkspaceSize;
        std::size_t bytes = 77;
        const int status = real(m_handle, d.a, d.b, m_problem->convolution, d.c, m_best.algo, &bytes);
        std::printf("size: status=%d bytes=%zu\n", status, bytes);
    }

    void prepare() {
        m_problem->allocate();
        m_workspace = std::make_unique<DeviceBuffer>(workspace_bytes() / 4 + 2);
    }
    void run(bool shows_output) {
        prepare();
        const int status = enqueue();
        std::printf("run: status=%d output=%016" PRIx64 "\n", status,
                    status == 0 && shows_output ? m_problem->output_hash(direction) : 0);
    }
    int enqueue() {
        const LegacyProblem::Triple d = m_problem->descriptors(direction);
        LegacyProblem::Triple at = m_problem->buffers(direction);
        const LegacyProblem::Triple roles = LegacyProblem::ordered(direction, &m_x_role, &m_w_role, &m_y_role);
        for (const auto& [pointer, role] : {std::pair(&at.a, roles.a), {&at.b, roles.b}, {&at.c, roles.c}}) {
            *pointer = placed(*static_cast<const std::string*>(role), *pointer);
        }
        if (run_options.in_place) {
            at.c = at.a;
        }
        if (run_options.math_of_entry) {
            require(cudnn().cudnnSetConvolutionMathType(m_problem->convolution, m_best.math_type) == 0,
                    "the math type");
        }
        const auto real = direction == Direction::forward         ? cudnn().cudnnConvolutionForward
                          : direction == Direction::backward_data ? cudnn().cudnnConvolutionBackwardData
                                                                  : cudnn().cudnnConvolutionBackwardFilter;
        const Scalar alpha(run_options.alpha, options.type);
        const Scalar beta(run_options.beta, options.type);
        return real(m_handle, alpha.get(), d.a, at.a, d.b, at.b, m_problem->convolution, m_best.algo, workspace(),
                    workspace_bytes(), beta.get(), d.c, at.c);
    }
    void run_fused(const std::string& activation_name) {
        prepare();
        const CudnnTable& api = cudnn();
        const int mode = activation_name == "relu"      ? 1
                         : activation_name == "tanh"    ? 2
                         : activation_name == "clipped" ? 3
                                                        : 5;
        abi::TensorDescriptor bias_descriptor = nullptr;
        void* activation = nullptr;
        require(api.cudnnCreateTensorDescriptor(&bias_descriptor) == 0 &&
                    api.cudnnSetTensor4dDescriptor(bias_descriptor, abi::k_nchw, options.type, 1, 4, 1, 1) == 0 &&
                    api.cudnnCreateActivationDescriptor(&activation) == 0 &&
                    api.cudnnSetActivationDescriptor(activation, mode, run_options.nan_propagation, 6) == 0,
                "descriptors of the bias and the activation");
        const DeviceBuffer bias(8, -40.0F);
        const LegacyProblem::Triple d = m_problem->descriptors(direction);
        const LegacyProblem::Triple at = m_problem->buffers(direction);
        const DeviceBuffer own_z(m_problem->floats_of_y(), 2.0F);
        void* const z = run_options.z_is_result ? at.c : placed("z", own_z.get());
        const Scalar alpha(run_options.alpha, options.type);
        const Scalar alpha2(run_options.alpha2, options.type);
        const int status = api.cudnnConvolutionBiasActivationForward(
            m_handle, alpha.get(), d.a, placed("x", at.a), d.b, placed("w", at.b), m_problem->convolution, m_best.algo,
            workspace(), workspace_bytes(), alpha2.get(), d.c, z, bias_descriptor, placed("bias", bias.get()),
            activation, d.c, placed("y", at.c));
        std::printf("fused: status=%d output=%016" PRIx64 "\n", status,
                    status == 0 ? m_problem->output_hash(direction) : 0);
        api.cudnnDestroyActivationDescriptor(activation);
        api.cudnnDestroyTensorDescriptor(bias_descriptor);
    }
    [[nodiscard]] void* workspace() const {
        return run_options.has_null_workspace ? nullptr : placed("workspace", m_workspace->get());
    }
    [[nodiscard]] std::size_t workspace_bytes() const { return run_options.workspace_bytes.value_or(m_best.memory); }

    void use_stream(const std::string& kind) {
        m_stream = nullptr;
        if (kind != "legacy") {
            require(cuStreamCreate(&m_stream, kind == "non_blocking" ? 1 : 0) == 0, "cuStreamCreate");
        }
        require(cudnn().cudnnSetStream(m_handle, m_stream) == 0, "cudnnSetStream");
    }
    void move_about(const std::atomic<bool>& stop) const {
        std::array<abi::Stream, 2> streams{};
        for (abi::Stream& stream : streams) {
            require(cuStreamCreate(&stream, 1) == 0, "cuStreamCreate");
        }
        for (std::size_t i = 0; !stop.load(); ++i) {
            require(cudnn().cudnnSetStream(m_handle, streams.at(i % 2)) == 0, "cudnnSetStream");
            usleep(200);
        }
    }
    void begin_capture() const { require(cuStreamBeginCapture_v2(m_stream, 0) == 0, "beginning a capture"); }
    void end_capture() const {
        void* graph = nullptr;
        const int status = cuStreamEndCapture(m_stream, &graph);
        std::printf("capture: status=%d graph=%d\n", status, graph != nullptr ? 1 : 0);
    }
    void begin_other_capture() {
        require(cuStreamCreate(&m_other_stream, 0) == 0 && cuStreamBeginCapture_v2(m_other_stream, 0) == 0,
                "beginning a capture");
    }
    void end_other_capture() const {
        void* graph = nullptr;
        const int status = cuStreamEndCapture(m_other_stream, &graph);
        std::printf("capture: status=%d graph=%d\n", status, graph != nullptr ? 1 : 0);
    }

    void check() const {
        int device = -1;
        void* stream = nullptr;
        void* context = nullptr;
        int mode = 0;
        cuCtxGetDevice(&device);
        cuCtxGetCurrent(&context);
        cudnn().cudnnGetStream(m_handle, &stream);
        cuThreadExchangeStreamCaptureMode(&mode);
        int back = mode;
        cuThreadExchangeStreamCaptureMode(&back);
        int math = -1;
        std::uint64_t input = 0;
        std::uint64_t output = 0;
        if (m_problem != nullptr) {
            cudnn().cudnnGetConvolutionMathType(m_problem->convolution, &math);
        }
        if (m_problem != nullptr && m_problem->buffers(direction).a != nullptr) {
            input = m_problem->input_hash(direction);
            output = m_problem->output_hash(direction);
        }
        std::printf("check: device=%d context=%d stream=%d mode=%d math=%d input=%016" PRIx64 " output=%016" PRIx64
                    "\n",
                    device, context != nullptr ? 1 : 0, stream == m_stream ? 1 : 0, mode, math, input, output);
    }

    void make_error() const { cudnn().cudnnSetStream(nullptr, nullptr); }
    static void show_error() {
        char text[256] = "";
        cudnn().cudnnGetLastErrorString(text, sizeof text);
        std::printf("error: %s\n", text);
    }

  private:
    // alpha or beta, of the type that the tensors give it.
    class Scalar {
      public:
        Scalar(double value, int type)
            : m_wide(value), m_narrow(static_cast<float>(value)), m_is_wide(type == abi::k_double) {}
        [[nodiscard]] const void* get() const {
            return m_is_wide ? static_cast<const void*>(&m_wide) : static_cast<const void*>(&m_narrow);
        }

      private:
        double m_wide;
        float m_narrow;
        bool m_is_wide;
    };

    [[nodiscard]] void* placed(const std::string& role, void* at) const {
        return static_cast<char*>(at) + (run_options.misaligned == role ? 4 : 0);
    }

    template <typename T>
    T unless_null(const char* what, T value) const {
        return nulls.contains(what) ? nullptr : value;
    }

    int call_array(const Question& question, const LegacyProblem::Triple& d, int* count, abi::AlgoPerf* array) const {
        const CudnnTable& api = cudnn();
        const bool is_get = question.kind == "get";
        const auto real =
            direction == Direction::forward
                ? is_get ? api.cudnnGetConvolutionForwardAlgorithm_v7 : api.cudnnFindConvolutionForwardAlgorithm
            : direction == Direction::backward_data ? is_get ? api.cudnnGetConvolutionBackwardDataAlgorithm_v7
                                                             : api.cudnnFindConvolutionBackwardDataAlgorithm
            : is_get                                ? api.cudnnGetConvolutionBackwardFilterAlgorithm_v7
                                                    : api.cudnnFindConvolutionBackwardFilterAlgorithm;
        return real(unless_null("handle", m_handle), unless_null("a", d.a), unless_null("b", d.b),
                    unless_null("conv", m_problem->convolution), unless_null("c", d.c),
                    static_cast<int>(question.numbers[0]), count, array);
    }

    int find_ex(const Question& question, const LegacyProblem::Triple& d, int* count, abi::AlgoPerf* array) {
        const CudnnTable& api = cudnn();
        const auto real = direction == Direction::forward         ? api.cudnnFindConvolutionForwardAlgorithmEx
                          : direction == Direction::backward_data ? api.cudnnFindConvolutionBackwardDataAlgorithmEx
                                                                  : api.cudnnFindConvolutionBackwardFilterAlgorithmEx;
        m_problem->allocate();
        const LegacyProblem::Triple at = m_problem->buffers(direction);
        const std::size_t bytes = question.numbers[1];
        // Never freed, like the other buffers.
        abi::CuDevicePtr workspace = 0;
        require(bytes == 0 || cuMemAlloc_v2(&workspace, bytes) == 0, "allocating a workspace");
        void* const memory = std::bit_cast<void*>(workspace);
        std::printf("buffers: %p %p %p workspace: %p\n", at.a, at.b, at.c, memory);
        return real(unless_null("handle", m_handle), unless_null("a", d.a), unless_null("a_data", at.a),
                    unless_null("b", d.b), unless_null("b_data", at.b), unless_null("conv", m_problem->convolution),
                    unless_null("c", d.c), unless_null("c_data", at.c), static_cast<int>(question.numbers[0]), count,
                    array, unless_null("workspace", memory), bytes);
    }

    std::string ask_single(const Question& question, const LegacyProblem::Triple& d) const {
        const CudnnTable& api = cudnn();
        const auto real = direction == Direction::forward         ? api.cudnnGetConvolutionForwardAlgorithm
                          : direction == Direction::backward_data ? api.cudnnGetConvolutionBackwardDataAlgorithm
                                                                  : api.cudnnGetConvolutionBackwardFilterAlgorithm;
        int algorithm = -77;
        const int status =
            real(unless_null("handle", m_handle), unless_null("a", d.a), unless_null("b", d.b),
                 unless_null("conv", m_problem->convolution), unless_null("c", d.c),
                 static_cast<int>(question.numbers[0]), question.numbers[1], unless_null("results", &algorithm));
        return " status=" + std::to_string(status) + " algorithm=" + std::to_string(algorithm);
    }

    // All entries that were written, whatever the count says.
    static std::string text_of(const std::vector<abi::AlgoPerf>& results) {
        const std::vector<unsigned char> blank(sizeof results[0], k_untouched);
        std::string text;
        for (const abi::AlgoPerf& r : results) {
            if (std::memcmp(&r, blank.data(), blank.size()) == 0) {
                break;
            }
            char line[160];
            std::snprintf(line, sizeof line, " [algo=%d math=%d status=%d time=%.9g memory=%zu determinism=%d]", r.algo,
                          r.math_type, r.status, static_cast<double>(r.time), r.memory, r.determinism);
            text += line;
        }
        return text;
    }

    abi::Handle m_handle = nullptr;
    abi::Stream m_stream = nullptr;
    abi::Stream m_other_stream = nullptr;
    std::unique_ptr<LegacyProblem> m_problem;
    std::unique_ptr<DeviceBuffer> m_workspace;
    std::vector<abi::AlgoPerf> m_results;
    abi::AlgoPerf m_best{};
    std::string m_x_role = "x";
    std::string m_w_role = "w";
    std::string m_y_role = "y";
};

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
