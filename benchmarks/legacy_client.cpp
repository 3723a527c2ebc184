// SPDX-License-Identifier: Apache-2.0
// An ordinary program of cuDNN's legacy convolution API that knows nothing of cudnn-tune: for each problem of a shapes
// file it makes descriptors, asks for an algorithm, runs it and prints a line of CSV. The same binary runs on the real
// libraries and on the simulated ones, whichever the loader finds.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <tuple>

#include "cli/csv.hpp"
#include "client/convolution.hpp"
#include "client/own_algorithms.hpp"

namespace cudnn_tune::benchmarks {
namespace {

// Outputs are compared by so many bytes from their start: enough to show a wrong algorithm, quick to copy.
constexpr std::size_t k_compared_bytes = std::size_t{4} << 20;

struct Options {
    std::vector<std::string> files;
    std::string filter;
    std::size_t limit = 0;
    std::size_t every = 1;
    std::size_t first = 0;         // of the rows that pass the filter, from 0
    bool mixed_precision = false;  // each fp32 problem once more, as training in mixed precision asks it
    std::string api = "get";
    int math_type = -1;
    std::size_t workspace_limit_bytes = std::size_t{256} << 20;
    int repeat = 5;
    int burst = 1;
    int check = 0;
    bool new_handle = false;
    std::map<std::string, abi::AlgoPerf> answers;  // by the id of the problem; empty: the library is asked
    int ask_again = 0;
    bool only_asks = false;
    int against_own = 0;  // rounds
};

double microseconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

struct Checksum {
    double mean_magnitude = 0;  // close for any algorithm
    std::uint64_t hash = 0;     // equal for equal bytes (FNV-1a)
};

Checksum checksum_of(const Convolution& convolution) {
    const std::vector<std::byte> bytes = convolution.output().read(k_compared_bytes);
    const abi::DataType type = convolution.data_type();
    const std::size_t element_bytes = type == abi::k_double ? 8 : type == abi::k_float ? 4 : 2;
    Checksum checksum;
    for (std::size_t at = 0; at + element_bytes <= bytes.size(); at += element_bytes) {
        checksum.mean_magnitude += std::abs(element_value(bytes.data() + at, type));
    }
    checksum.mean_magnitude /= static_cast<double>(std::max<std::size_t>(1, bytes.size() / element_bytes));
    checksum.hash = 0xcbf29ce484222325;
    for (const std::byte byte : bytes) {
        checksum.hash = (checksum.hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3;
    }
    return checksum;
}

// The cost of a question that was asked before, in microseconds: the median.
double ask_again_us(Convolution& convolution, const Question& question, int count) {
    std::vector<double> times_us;
    for (int i = 0; i < count; ++i) {
        const auto start = std::chrono::steady_clock::now();
        static_cast<void>(convolution.ask(question));
        times_us.push_back(microseconds_since(start));
    }
    std::ranges::sort(times_us);
    return times_us.empty() ? 0 : times_us[times_us.size() / 2];
}

// One line of CSV. False if the problem could not be run; the line then says why.
bool run_problem(abi::Handle& handle, const Shape& shape, const Options& options, const std::string& gpu) {
    abi::AlgoPerf answer{};
    double choose_us = 0;
    double again_us = 0;
    double run_us = 0;
    double rounding = -1;
    Checksum checksum;
    Comparison comparison;
    std::string error;
    try {
        const Question question{options.api == "find"     ? Api::find
                                : options.api == "findex" ? Api::find_ex
                                                          : Api::get,
                                options.workspace_limit_bytes};
        Convolution convolution(handle, shape, options.math_type);
        if (!options.only_asks || question.api == Api::find_ex) {
            // Digits take power: a kernel near the GPU's limit runs a tenth faster on values that have few (seen), and
            // which of two is the faster one then differs from what programs see.
            convolution.allocate(options.check > 0 || options.against_own > 0);
        }
        std::optional<OwnAlgorithms> own;
        if (options.against_own > 0) {
            own.emplace(convolution, question.workspace_limit_bytes, options.against_own, options.burst);
        }
        const auto start = std::chrono::steady_clock::now();
        if (options.answers.empty()) {
            answer = convolution.ask(question);
        } else {
            const auto known = options.answers.find(shape.id);
            if (known == options.answers.end()) {
                throw std::runtime_error("the file of answers has none");
            }
            answer = convolution.look_up(known->second.algo, known->second.math_type);
        }
        choose_us = microseconds_since(start);
        again_us = ask_again_us(convolution, question, options.ask_again);
        if (!options.only_asks) {
            convolution.adopt(answer);
            if (options.new_handle) {
                check_cudnn(cudnnDestroy(handle), "cudnnDestroy");
                check_cudnn(cudnnCreate(&handle), "cudnnCreate");
                convolution.use(handle);
            }
            if (own) {
                comparison = own->compare(answer);
                run_us = comparison.answer_us;
            } else {
                run_us = median_run_us(options.repeat, options.burst, [&] { convolution.run(); });
            }
            checksum = checksum_of(convolution);
            if (options.check > 0) {
                rounding = convolution.largest_error(options.check);
            }
        }
    } catch (const std::runtime_error& failure) {
        error = failure.what();
    }
    std::printf("%s,%d,%d,%zu,%.3f,%.4f,%.3f,%.6g,%016llx,%s,%s,%.3g,%d,%d,%.3f,%.3f,%.3f,%.3f\n",
                cli::csv_field(shape.id).c_str(), answer.algo, answer.math_type, answer.memory, choose_us, again_us,
                run_us, checksum.mean_magnitude, static_cast<unsigned long long>(checksum.hash),
                cli::csv_field(gpu).c_str(), cli::csv_field(error).c_str(), rounding, comparison.algorithm,
                comparison.math_type, comparison.own_us, comparison.own_first_us, comparison.answer_call_us,
                comparison.own_call_us);
    std::fflush(stdout);
    return error.empty();
}

// Of the first three columns of this program's output; ids hold no commas.
std::map<std::string, abi::AlgoPerf> read_answers(const std::string& path) {
    std::ifstream file(path);
    if (!file) {
        throw std::runtime_error("cannot read " + path);
    }
    std::map<std::string, abi::AlgoPerf> answers;
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
        std::istringstream fields(line);
        std::string id;
        char comma = ',';
        abi::AlgoPerf answer{};
        if (std::getline(fields, id, ',') && fields >> answer.algo >> comma >> answer.math_type) {
            answers[id] = answer;
        }
    }
    return answers;
}

// An algorithm that was named for the first of two such problems is named for the second, too.
bool is_same_problem(const Shape& a, const Shape& b) {
    const auto parts = [](const Shape& of) {
        return std::tie(of.operation, of.dtype, of.is_channels_last, of.x, of.w, of.y, of.pads, of.strides,
                        of.dilations, of.groups);
    };
    return parts(a) == parts(b);
}

void leave_out_repeated(std::vector<Shape>& shapes) {
    std::vector<Shape> different;
    for (Shape& shape : shapes) {
        const auto same =
            std::ranges::find_if(different, [&](const Shape& known) { return is_same_problem(known, shape); });
        if (same == different.end()) {
            different.push_back(std::move(shape));
        } else {
            std::fprintf(stderr, "legacy_client: leaves out %s, which is %s\n", shape.id.c_str(), same->id.c_str());
        }
    }
    shapes = std::move(different);
}

// The problems of the files that the options want.
std::vector<Shape> wanted_shapes(const Options& options) {
    std::vector<Shape> shapes;
    std::size_t nb_rows = 0;
    for (const std::string& file : options.files) {
        cli::ShapesFile contents = cli::read_shapes(file);
        for (const std::string& row : contents.left_out) {
            std::fprintf(stderr, "legacy_client: %s leaves out %s\n", file.c_str(), row.c_str());
        }
        for (Shape& shape : contents.shapes) {
            if ((shape.id + " " + shape.model + " " + shape.dtype).find(options.filter) == std::string::npos) {
                continue;
            }
            const std::size_t row = nb_rows++;
            if (row >= options.first && (row - options.first) % std::max<std::size_t>(1, options.every) == 0 &&
                (options.limit == 0 || shapes.size() < options.limit)) {
                shapes.push_back(std::move(shape));
                if (options.mixed_precision && shapes.back().dtype == "fp32") {
                    Shape mixed = shapes.back();
                    mixed.id += "-amp";
                    mixed.dtype = "fp16";
                    mixed.is_channels_last = true;
                    shapes.push_back(std::move(mixed));
                }
            }
        }
    }
    if (options.against_own > 0) {
        leave_out_repeated(shapes);
    }
    return shapes;
}

int run(const Options& options) {
    const std::vector<Shape> shapes = wanted_shapes(options);
    const std::string gpu = open_gpu();
    abi::Handle handle = nullptr;
    check_cudnn(cudnnCreate(&handle), "cudnnCreate");
    std::fprintf(stderr, "legacy_client: %zu problems on %s, cuDNN %zu, %s\n", shapes.size(), gpu.c_str(),
                 cudnnGetVersion(), options.api.c_str());
    std::printf(
        "id,algo,math,workspace,choose_us,again_us,run_us,mean_magnitude,hash,gpu,error,rounding,"
        "own_algo,own_math,own_us,own_first_us,call_us,own_call_us\n");
    std::size_t nb_failed = 0;
    const auto start = std::chrono::steady_clock::now();
    for (const Shape& shape : shapes) {
        nb_failed += run_problem(handle, shape, options, gpu) ? 0 : 1;
    }
    std::fprintf(stderr, "legacy_client: %.3f s for all, %zu failed\n", microseconds_since(start) / 1e6, nb_failed);
    check_cudnn(cudnnDestroy(handle), "cudnnDestroy");
    return shapes.empty() || nb_failed == shapes.size() ? 1 : 0;
}

}  // namespace
}  // namespace cudnn_tune::benchmarks

int main(int argc, char** argv) {
    using namespace cudnn_tune::benchmarks;
    Options options;
    std::string answers;
    CLI::App app("Runs convolutions through cuDNN's legacy API and prints a line of CSV for each.", "legacy_client");
    app.add_option("SHAPES", options.files, "CSV files of problems")->required();
    app.add_option("--filter", options.filter, "Only problems with this in their id, model or data type");
    app.add_option("--every", options.every, "Only one problem in so many");
    app.add_option("--first", options.first, "Leave out so many problems before the first one");
    app.add_flag("--mixed-precision", options.mixed_precision,
                 "Each fp32 problem also as fp16, channels last (ID-amp)");
    app.add_option("--limit", options.limit, "At most so many problems");
    app.add_option("--api", options.api, "How to ask")->check(CLI::IsMember({"get", "find", "findex"}));
    app.add_option("--math", options.math_type, "cudnnMathType_t (default: by data type)");
    app.add_option("--workspace", options.workspace_limit_bytes, "Most workspace, in bytes");
    app.add_option("--repeat", options.repeat, "Timed runs a problem");
    app.add_option("--ask-again", options.ask_again, "Ask each question so many times more, and print the median time");
    app.add_option("--burst", options.burst, "Launches a timed run")->check(CLI::PositiveNumber);
    app.add_option(
        "--check", options.check,
        "Compare so many elements of each result with double precision: the largest |error| / sum of |products| "
        "is printed as \"rounding\"");
    app.add_option("--answers", answers, "Do not ask: take the algorithms that another run of this program printed");
    app.add_flag("--new-handle", options.new_handle, "Destroy the handle and make another one before each run");
    CLI::Option* const only_ask = app.add_flag("--only-ask", options.only_asks, "Do not run the convolutions");
    app.add_option("--against-own", options.against_own,
                   "Time the answer in turn with cuDNN's own best algorithms, in so many rounds of --burst launches at "
                   "most: run_us and own_us are the least. Each problem once")
        ->check(CLI::NonNegativeNumber)
        ->excludes(only_ask);
    CLI11_PARSE(app, argc, argv);
    try {
        if (!answers.empty()) {
            options.answers = read_answers(answers);
        }
        return run(options);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "legacy_client: error: %s\n", error.what());
        return 1;
    }
}
