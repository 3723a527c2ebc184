// SPDX-License-Identifier: Apache-2.0
// parse(to_text(p)) == p for problems that no person would write. Fixed seeds: a failure can be repeated.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "key/environment.hpp"
#include "samples.hpp"

namespace cudnn_tune::key {
namespace {

constexpr int k_rounds = 3000;

class Dice {
  public:
    explicit Dice(std::uint64_t seed) : m_generator(seed) {}

    int below(int limit) { return static_cast<int>(m_generator() % static_cast<std::uint64_t>(limit)); }
    bool coin() { return below(2) == 0; }
    // Mostly small, at times anything that fits.
    std::int64_t size() { return below(8) == 0 ? static_cast<std::int64_t>(m_generator()) : 1 + below(300); }
    int number(int nb_known) { return below(8) == 0 ? static_cast<int>(m_generator()) : below(nb_known + 1); }
    std::string bytes() {
        std::string text;
        for (int left = below(9); left > 0; --left) {
            text += static_cast<char>(below(256));
        }
        return text;
    }

  private:
    std::mt19937_64 m_generator;
};

Tensor random_tensor(Dice& dice) {
    Tensor tensor;
    tensor.dtype = dice.number(abi::k_data_type_count);
    tensor.nb_dims = dice.below(abi::k_max_dims + 1);
    for (std::size_t i = 0; i < static_cast<std::size_t>(tensor.nb_dims); ++i) {
        tensor.dims[i] = dice.size();
        tensor.strides[i] = dice.size();
    }
    if (const auto strides = packed_strides(tensor, dice.coin() ? Layout::row_major : Layout::channels_last);
        strides && dice.below(3) > 0) {
        tensor.strides = *strides;
    }
    if (dice.below(3) == 0) {
        tensor.vector_count = dice.size();
        tensor.vector_dim = dice.below(4) - 1;
    }
    tensor.is_virtual = dice.below(4) == 0;
    tensor.is_by_value = dice.below(4) == 0;
    tensor.reordering_mode = dice.below(4) == 0 ? dice.number(3) : 0;
    return tensor;
}

Convolution random_convolution(Dice& dice) {
    Convolution convolution;
    convolution.nb_spatial = dice.below(abi::k_max_spatial_dims + 1);
    for (std::size_t i = 0; i < static_cast<std::size_t>(convolution.nb_spatial); ++i) {
        convolution.pre_pads[i] = dice.size();
        convolution.post_pads[i] = dice.below(4) > 0 ? convolution.pre_pads[i] : dice.size();
        convolution.strides[i] = dice.size();
        convolution.dilations[i] = dice.size();
    }
    convolution.groups = dice.size();
    convolution.mode = dice.number(2);
    convolution.compute_type = dice.number(abi::k_data_type_count);
    return convolution;
}

PointwiseOperation random_operation(Dice& dice, int nb_tensors) {
    PointwiseOperation operation;
    operation.mode = dice.number(700);
    operation.math_precision = dice.number(abi::k_data_type_count);
    for (int* index : {&operation.x, &operation.b, &operation.t, &operation.y}) {
        *index = dice.below(nb_tensors + 1) - 1;
    }
    for (int name = dice.below(5); name < 760; name += 1 + dice.below(400)) {
        operation.attributes.emplace_back(name, dice.bytes());
    }
    return operation;
}

Problem random_problem(Dice& dice) {
    Problem problem;
    problem.direction = static_cast<Direction>(dice.below(3));
    problem.tensors.resize(static_cast<std::size_t>(dice.coin() ? 3 : 3 + dice.below(6)));
    for (Tensor& tensor : problem.tensors) {
        tensor = random_tensor(dice);
    }
    problem.convolution = random_convolution(dice);
    for (int left = dice.coin() ? 0 : dice.below(5); left > 0; --left) {
        problem.pointwise.push_back(random_operation(dice, static_cast<int>(problem.tensors.size())));
    }
    return problem;
}

TEST(RandomProblem, IsReadBackAsItWas) {
    Dice dice(20240501);
    for (int round = 0; round < k_rounds; ++round) {
        const Problem problem = random_problem(dice);
        const std::string text = to_text(problem);
        const auto read = parse_problem(text);
        ASSERT_TRUE(read.ok()) << text;
        ASSERT_EQ(*read, problem) << text;
    }
}

TEST(RandomProblem, TextsAreOnePrintableLine) {
    Dice dice(7);
    for (int round = 0; round < k_rounds; ++round) {
        const std::string text = to_text(random_problem(dice));
        ASSERT_TRUE(std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; })) << text;
    }
}

TEST(RandomApiPart, IsReadBackAsItWas) {
    Dice dice(3);
    for (int round = 0; round < k_rounds; ++round) {
        ApiPart part;
        if (dice.coin()) {
            part = LegacyPart{dice.number(4), dice.number(2)};
        } else {
            GraphPart graph;
            for (int left = dice.below(7); left > 0; --left) {
                graph.alignments.push_back(dice.size());
            }
            graph.alpha = {static_cast<ScalarClass>(dice.below(3)), dice.number(30)};
            graph.beta = {static_cast<ScalarClass>(dice.below(3)), dice.number(30)};
            graph.sm_count_target = dice.coin() ? -1 : dice.size();
            part = graph;
        }
        const auto read = parse_api_part(to_text(part));
        ASSERT_TRUE(read.ok()) << to_text(part);
        ASSERT_EQ(*read, part) << to_text(part);
    }
}

TEST(RandomEnvironment, IsReadBackAsItWas) {
    Dice dice(5);
    for (int round = 0; round < k_rounds; ++round) {
        const Environment environment{dice.number(99999), dice.number(13), dice.number(12), dice.number(9),
                                      dice.number(132),   dice.bytes(),    dice.bytes()};
        const auto read = parse_environment(to_text(environment));
        ASSERT_TRUE(read.ok()) << to_text(environment);
        ASSERT_EQ(*read, environment) << to_text(environment);
    }
}

// Whatever happens to a text, the parser answers, and accepts only what it would write itself.
TEST(DamagedText, IsRefusedOrIsAnotherCanonicalText) {
    Dice dice(11);
    constexpr std::string_view letters = "0123456789,:;()[]=|->/@%-+ xwytfpnchd\n\xFF";
    int nb_refused = 0;
    for (int round = 0; round < k_rounds; ++round) {
        std::string text = to_text(random_problem(dice));
        for (int left = 1 + dice.below(3); left > 0; --left) {
            const auto at = static_cast<std::size_t>(dice.below(static_cast<int>(text.size())));
            const char letter = letters[static_cast<std::size_t>(dice.below(static_cast<int>(letters.size())))];
            switch (dice.below(3)) {
                case 0:
                    text[at] = letter;
                    break;
                case 1:
                    text.insert(at, 1, letter);
                    break;
                default:
                    text.erase(at, std::size_t{1} + static_cast<std::size_t>(dice.below(4)));
            }
        }
        const auto read = parse_problem(text);
        nb_refused += read.ok() ? 0 : 1;
        if (read.ok()) {
            ASSERT_EQ(to_text(*read), text);
        }
    }
    EXPECT_GT(nb_refused, k_rounds / 2);
}

TEST(TruncatedText, IsRefusedOrCanonicalAtEveryLength) {
    const std::string problem = to_text(fused_problem());
    const std::string graph = to_text(ApiPart(GraphPart{{16, 0}, {}, {}, 64}));
    const std::string environment = to_text(Environment{91900, 13, 9, 0, 132, "a b", "NVIDIA H200"});
    for (std::size_t length = 0; length < problem.size(); ++length) {
        const auto read = parse_problem(problem.substr(0, length));
        EXPECT_TRUE(!read.ok() || to_text(*read) == problem.substr(0, length));
    }
    for (std::size_t length = 0; length < graph.size(); ++length) {
        const auto read = parse_api_part(graph.substr(0, length));
        EXPECT_TRUE(!read.ok() || to_text(*read) == graph.substr(0, length));
    }
    for (std::size_t length = 0; length < environment.size(); ++length) {
        const auto read = parse_environment(environment.substr(0, length));
        EXPECT_TRUE(!read.ok() || to_text(*read) == environment.substr(0, length));
    }
}

}  // namespace
}  // namespace cudnn_tune::key
