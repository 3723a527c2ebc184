// SPDX-License-Identifier: Apache-2.0
// A program that is linked to cuDNN. Its argument says what it does.
#include "victims/linked.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

extern "C" __attribute__((weak)) int cudnnGetConvolutionForwardAlgorithm(void*, const void*, const void*, const void*,
                                                                         const void*, int, std::size_t, int*);

namespace {

// Many threads make their first call at the same moment.
int run_threads() {
    constexpr int k_threads = 16;
    constexpr int k_rounds = 200;
    const victims::Cudnn cudnn = victims::linked_cudnn();
    std::atomic<int> waiting{0};
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    threads.reserve(k_threads);
    for (int i = 0; i < k_threads; ++i) {
        threads.emplace_back([&] {
            ++waiting;
            while (waiting < k_threads) {
            }
            for (int round = 0; round < k_rounds; ++round) {
                victims::AlgoPerf result{};
                int returned = 0;
                const int status = cudnn.get_v7(nullptr, nullptr, nullptr, nullptr, nullptr, 1, &returned, &result);
                void* descriptor = nullptr;
                int failed = cudnn.create(17, &descriptor);
                failed |= cudnn.set(descriptor, 900, 3, 1, nullptr);
                failed |= cudnn.destroy(descriptor);
                const bool is_right = result.algo == static_cast<int>(cudnnGetVersion() / 10000) || result.algo == 100;
                wrong += status != 0 || failed != 0 || !is_right;
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    std::printf("wrong answers: %d\n", wrong.load());
    return 0;
}

int run_fork() {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        victims::run("child", victims::linked_cudnn());
        return 0;
    }
    int status = 0;
    waitpid(child, &status, 0);
    victims::run("parent", victims::linked_cudnn());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

// A function that this version does not have.
int run_missing() {
    int algorithm = -1;
    const int status =
        cudnnGetConvolutionForwardAlgorithm != nullptr
            ? cudnnGetConvolutionForwardAlgorithm(nullptr, nullptr, nullptr, nullptr, nullptr, 0, 0, &algorithm)
            : -1;
    std::printf("status %d, algorithm %d\n", status, algorithm);
    return 0;
}

// Functions that are not hooked and come back to hooked ones, or to NVRTC, inside cuDNN.
int run_inner() {
    void* descriptor = nullptr;
    cudnnBackendCreateDescriptor(5, &descriptor);
    std::printf("execute %d, finalize %d\n", cudnnBackendExecute(nullptr, descriptor, nullptr),
                cudnnBackendFinalize(descriptor));
    return 0;
}

// Convolutions of the three directions. Every argument is a power of two. With `asks` a question comes first.
int run_convolutions(bool asks) {
    if (asks) {
        victims::AlgoPerf result{};
        int returned = 0;
        cudnnGetConvolutionForwardAlgorithm_v7(nullptr, nullptr, nullptr, nullptr, nullptr, 1, &returned, &result);
    }
    const auto at = [](int bit) { return reinterpret_cast<void*>(std::uintptr_t{1} << bit); };
    int direction = 0;
    for (const auto& [size, convolve] :
         {std::pair(&cudnnGetConvolutionForwardWorkspaceSize, &cudnnConvolutionForward),
          {&cudnnGetConvolutionBackwardDataWorkspaceSize, &cudnnConvolutionBackwardData},
          {&cudnnGetConvolutionBackwardFilterWorkspaceSize, &cudnnConvolutionBackwardFilter}}) {
        std::size_t bytes = 0;
        const int sized = size(at(0), at(1), at(2), at(3), at(4), 5, &bytes);
        const int convolved =
            convolve(at(0), at(1), at(2), at(3), at(4), at(5), at(6), 1 << 7, at(8), 1 << 9, at(10), at(11), at(12));
        std::printf("%d: size %d %zu, convolution %d\n", direction++, sized, bytes, convolved);
    }
    const int fused =
        cudnnConvolutionBiasActivationForward(at(0), at(1), at(2), at(3), at(4), at(5), at(6), 1 << 7, at(8), 1 << 9,
                                              at(10), at(11), at(12), at(13), at(14), at(15), at(16), at(17));
    std::printf("fused: %d\n", fused);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const char* what = argc > 1 ? argv[1] : "run";
    if (std::strcmp(what, "threads") == 0) {
        return run_threads();
    }
    if (std::strcmp(what, "fork") == 0) {
        return run_fork();
    }
    if (std::strcmp(what, "fork-late") == 0) {
        victims::run("before", victims::linked_cudnn());
        return run_fork();
    }
    if (std::strcmp(what, "missing") == 0) {
        return run_missing();
    }
    if (std::strcmp(what, "inner") == 0) {
        return run_inner();
    }
    if (std::strcmp(what, "convolve") == 0 || std::strcmp(what, "ask-and-convolve") == 0) {
        return run_convolutions(what[0] == 'a');
    }
    if (std::strcmp(what, "chdir") == 0 && chdir("/") != 0) {
        return 1;
    }
    victims::run("linked", victims::linked_cudnn());
    std::printf("executed: get_v7 %d, find %d\n", cudnnFakeCallsOf("cudnnGetConvolutionForwardAlgorithm_v7"),
                cudnnFakeCallsOf("cudnnFindConvolutionForwardAlgorithm"));
    return 0;
}
