// SPDX-License-Identifier: Apache-2.0
// What one thread of a program of the legacy API works with: it asks, runs convolutions in all the ways that the words
// of legacy.cpp name, and says what came of it.
#pragma once

#include <cinttypes>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "interpreter.hpp"
#include "legacy_problem.hpp"

namespace victim {

inline constexpr int k_most_results = 128;
inline constexpr unsigned char k_untouched = 0xee;

struct Question {
    std::string kind;
    std::vector<std::size_t> numbers;
};

inline Question parse_question(const std::string& kind, const std::vector<std::string>& numbers) {
    Question question{kind, {}};
    for (const std::string& number : numbers) {
        question.numbers.push_back(std::stoull(number));
    }
    question.numbers.resize(2);
    return question;
}

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
    void end_capture() const { end_capture_of(m_stream); }
    void begin_other_capture() {
        require(cuStreamCreate(&m_other_stream, 0) == 0 && cuStreamBeginCapture_v2(m_other_stream, 0) == 0,
                "beginning a capture");
    }
    void end_other_capture() const { end_capture_of(m_other_stream); }

    void check() const {
        int device = -1;
        void* stream = nullptr;
        void* context = nullptr;
        const int mode = capture_mode_of_thread();
        cuCtxGetDevice(&device);
        cuCtxGetCurrent(&context);
        cudnn().cudnnGetStream(m_handle, &stream);
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
        require(bytes == 0 || cuMemAlloc_v2(&workspace, bytes + sizeof(float)) == 0, "allocating a workspace");
        void* const memory = bytes == 0 ? nullptr : placed("workspace", std::bit_cast<void*>(workspace));
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

}  // namespace victim
