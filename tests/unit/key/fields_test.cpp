// SPDX-License-Identifier: Apache-2.0
// The whole key decides: every member of every part must show in the text and so in the digest.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "key/environment.hpp"
#include "samples.hpp"

namespace cudnn_tune::key {
namespace {

template <typename Value>
using Mutators = std::vector<std::pair<std::string, std::function<void(Value&)>>>;

// The structured bindings below stop compiling when a struct gets or loses a member: then extend its list, too.
Mutators<Tensor> tensor_mutators() {
    Tensor example;
    [[maybe_unused]] const auto& [dtype, nb_dims, dims, strides, vector_count, vector_dim, is_virtual, is_by_value,
                                  reordering_mode] = example;
    Mutators<Tensor> list{
        {"dtype", [](Tensor& t) { t.dtype += 1; }},
        {"dtype without a name", [](Tensor& t) { t.dtype = 1000; }},
        {"nb_dims", [](Tensor& t) { t.nb_dims += 1; }},
        {"vector_count", [](Tensor& t) { t.vector_count = 4; }},
        {"vector_dim", [](Tensor& t) { t.vector_dim = 1; }},
        {"is_virtual", [](Tensor& t) { t.is_virtual = !t.is_virtual; }},
        {"is_by_value", [](Tensor& t) { t.is_by_value = !t.is_by_value; }},
        {"reordering_mode", [](Tensor& t) { t.reordering_mode = 2; }},
    };
    for (std::size_t i = 0; i < 4; ++i) {
        list.emplace_back("dim " + std::to_string(i), [i](Tensor& t) { t.dims[i] += std::int64_t{1} << 33; });
        list.emplace_back("stride " + std::to_string(i), [i](Tensor& t) { t.strides[i] += 8; });
        list.emplace_back("negative stride " + std::to_string(i), [i](Tensor& t) { t.strides[i] = -7; });
    }
    return list;
}

Mutators<Convolution> convolution_mutators() {
    Convolution example;
    [[maybe_unused]] const auto& [nb_spatial, pre_pads, post_pads, strides, dilations, groups, mode, compute_type] =
        example;
    Mutators<Convolution> list{
        {"nb_spatial", [](Convolution& c) { c.nb_spatial += 1; }},
        {"groups", [](Convolution& c) { c.groups += std::int64_t{1} << 40; }},
        {"mode", [](Convolution& c) { c.mode = abi::k_convolution; }},
        {"compute_type", [](Convolution& c) { c.compute_type = abi::k_double; }},
    };
    for (std::size_t i = 0; i < 2; ++i) {
        list.emplace_back("pre_pad " + std::to_string(i), [i](Convolution& c) { c.pre_pads[i] += 3; });
        list.emplace_back("post_pad " + std::to_string(i), [i](Convolution& c) { c.post_pads[i] += 3; });
        list.emplace_back("stride " + std::to_string(i), [i](Convolution& c) { c.strides[i] += 3; });
        list.emplace_back("dilation " + std::to_string(i), [i](Convolution& c) { c.dilations[i] += 3; });
    }
    return list;
}

Mutators<PointwiseOperation> pointwise_mutators() {
    PointwiseOperation example;
    [[maybe_unused]] const auto& [mode, math_precision, x, b, t, y, attributes] = example;
    return {
        {"mode", [](PointwiseOperation& p) { p.mode = 9; }},
        {"math_precision", [](PointwiseOperation& p) { p.math_precision = abi::k_half; }},
        {"x", [](PointwiseOperation& p) { p.x = 0; }},
        {"b", [](PointwiseOperation& p) { p.b = 0; }},
        {"t", [](PointwiseOperation& p) { p.t = 0; }},
        {"y", [](PointwiseOperation& p) { p.y = 1; }},
        {"attribute name", [](PointwiseOperation& p) { p.attributes.back().first = 900; }},
        {"attribute value", [](PointwiseOperation& p) { p.attributes.back().second += " "; }},
        {"attribute count", [](PointwiseOperation& p) { p.attributes.pop_back(); }},
    };
}

Mutators<Problem> problem_mutators() {
    Problem example;
    [[maybe_unused]] const auto& [direction, tensors, convolution, pointwise] = example;
    Mutators<Problem> list{
        {"backward data", [](Problem& p) { p.direction = Direction::backward_data; }},
        {"backward filter", [](Problem& p) { p.direction = Direction::backward_filter; }},
        {"one more tensor", [](Problem& p) { p.tensors.push_back(p.tensors[1]); }},
        {"one more operation", [](Problem& p) { p.pointwise.push_back(p.pointwise[0]); }},
        {"order of operations", [](Problem& p) { std::swap(p.pointwise[0], p.pointwise[1]); }},
    };
    for (std::size_t i = 0; i < 6; ++i) {
        for (const auto& [name, mutate] : tensor_mutators()) {
            list.emplace_back("tensor " + std::to_string(i) + " " + name,
                              [i, mutate = mutate](Problem& p) { mutate(p.tensors[i]); });
        }
    }
    for (const auto& [name, mutate] : convolution_mutators()) {
        list.emplace_back("convolution " + name, [mutate = mutate](Problem& p) { mutate(p.convolution); });
    }
    for (std::size_t i = 0; i < 2; ++i) {
        for (const auto& [name, mutate] : pointwise_mutators()) {
            list.emplace_back("operation " + std::to_string(i) + " " + name,
                              [i, mutate = mutate](Problem& p) { mutate(p.pointwise[i]); });
        }
    }
    return list;
}

Mutators<LegacyPart> legacy_mutators() {
    LegacyPart example;
    [[maybe_unused]] const auto& [math_type, reorder_type] = example;
    return {{"math_type", [](LegacyPart& p) { p.math_type = 8; }},
            {"reorder_type", [](LegacyPart& p) { p.reorder_type = abi::k_no_reorder; }}};
}

Mutators<GraphPart> graph_mutators() {
    GraphPart example;
    [[maybe_unused]] const auto& [alignments, alpha, beta, sm_count_target] = example;
    [[maybe_unused]] const auto& [value, type] = example.alpha;
    return {{"alignment 0", [](GraphPart& p) { p.alignments[0] = 8; }},
            {"alignment 1", [](GraphPart& p) { p.alignments[1] = 2; }},
            {"one alignment more", [](GraphPart& p) { p.alignments.push_back(16); }},
            {"alpha zero", [](GraphPart& p) { p.alpha.value = ScalarClass::zero; }},
            {"alpha other", [](GraphPart& p) { p.alpha.value = ScalarClass::other; }},
            {"alpha type", [](GraphPart& p) { p.alpha.type = 4; }},
            {"beta one", [](GraphPart& p) { p.beta.value = ScalarClass::one; }},
            {"beta other", [](GraphPart& p) { p.beta.value = ScalarClass::other; }},
            {"beta type", [](GraphPart& p) { p.beta.type = 4; }},
            {"sm_count_target", [](GraphPart& p) { p.sm_count_target = 0; }}};
}

Mutators<Environment> environment_mutators() {
    Environment example;
    [[maybe_unused]] const auto& [cudnn_version, cudart_major, compute_major, compute_minor, sm_count, tf32, gpu_name] =
        example;
    return {{"cudnn_version", [](Environment& e) { e.cudnn_version += 1; }},
            {"cudart_major", [](Environment& e) { e.cudart_major += 1; }},
            {"compute_major", [](Environment& e) { e.compute_major += 1; }},
            {"compute_minor", [](Environment& e) { e.compute_minor += 1; }},
            {"sm_count", [](Environment& e) { e.sm_count += 1; }},
            {"tf32", [](Environment& e) { e.tf32 = "0"; }},
            {"gpu_name", [](Environment& e) { e.gpu_name += " "; }}};
}

const Environment k_environment{91900, 13, 9, 0, 132, "unset", "NVIDIA H200"};

// Every mutation gives a text and a digest of its own, and the text leads back to what was mutated.
template <typename Value, typename Parse, typename MakeKey>
void expect_each_field_decides(const Value& value, const Mutators<Value>& mutators, Parse parse, MakeKey make_key) {
    std::set<std::string> texts{to_text(value)};
    std::set<Digest> digests{make_key(to_text(value)).digest()};
    for (const auto& [name, mutate] : mutators) {
        Value changed = value;
        mutate(changed);
        ASSERT_NE(changed, value) << name;
        const std::string text = to_text(changed);
        EXPECT_TRUE(texts.insert(text).second) << name << ": " << text;
        EXPECT_TRUE(digests.insert(make_key(text).digest()).second) << name;
        const auto read = parse(text);
        ASSERT_TRUE(read.ok()) << name << ": " << text;
        EXPECT_EQ(*read, changed) << name << ": " << text;
    }
}

KeyText key_of_api(const std::string& api) { return {to_text(resnet_problem()), api, to_text(k_environment)}; }

TEST(Key, EveryFieldOfAProblemChangesTextAndDigest) {
    expect_each_field_decides(fused_problem(), problem_mutators(), parse_problem, [](const std::string& text) {
        return KeyText{text, to_text(ApiPart(GraphPart{})), to_text(k_environment)};
    });
}

TEST(Key, EveryFieldOfALegacyPartChangesTextAndDigest) {
    Mutators<ApiPart> mutators{{"graph part", [](ApiPart& part) { part = GraphPart{}; }}};
    for (const auto& [name, mutate] : legacy_mutators()) {
        mutators.emplace_back(name, [mutate = mutate](ApiPart& part) { mutate(std::get<LegacyPart>(part)); });
    }
    expect_each_field_decides(ApiPart(LegacyPart{}), mutators, parse_api_part, key_of_api);
}

TEST(Key, EveryFieldOfAGraphPartChangesTextAndDigest) {
    Mutators<ApiPart> mutators;
    for (const auto& [name, mutate] : graph_mutators()) {
        mutators.emplace_back(name, [mutate = mutate](ApiPart& part) { mutate(std::get<GraphPart>(part)); });
    }
    expect_each_field_decides(ApiPart(GraphPart{.alignments = {16, 16, 16}}), mutators, parse_api_part, key_of_api);
}

TEST(Key, EveryFieldOfAnEnvironmentChangesTextAndDigest) {
    expect_each_field_decides(k_environment, environment_mutators(), parse_environment, [](const std::string& text) {
        return KeyText{to_text(resnet_problem()), to_text(ApiPart(LegacyPart{})), text};
    });
}

TEST(Key, DigestTellsTheThreeTextsApart) {
    const Digest digest = KeyText{"a", "b", "c"}.digest();
    EXPECT_NE(digest, (KeyText{"ab", "", "c"}).digest());
    EXPECT_NE(digest, (KeyText{"a", "bc", ""}).digest());
    EXPECT_NE(digest, (KeyText{"b", "a", "c"}).digest());
    EXPECT_EQ(digest, digest_of("a\nb\nc"));
}

}  // namespace
}  // namespace cudnn_tune::key
