// SPDX-License-Identifier: Apache-2.0
// Unmodified programs under the preloaded library, with a cache file of known content and the real cuDNN. What they see
// is compared with what they see without it, run in the same test.
#include "serving.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>

namespace cudnn_tune::test {
namespace {

using testing::ChildResult;
using testing::describe;

// The client asks INSTANT, B, FALLBACK and A in this order.
void expect_served(const Prepared& prepared, const Answers& served, const Answers& real) {
    std::size_t changed = 0;
    ASSERT_EQ(served.size(), real.size());
    for (std::size_t i = 0; i < prepared.ids.size(); ++i) {
        const std::string& id = prepared.ids[i];
        SCOPED_TRACE(id);
        const cache::Record& record = prepared.records[i];
        for (const int mode : {abi::k_mode_instant, abi::k_mode_b, abi::k_mode_fallback, abi::k_mode_a}) {
            SCOPED_TRACE(mode);
            const Answer& mine = served.at({id, mode});
            const Answer& theirs = real.at({id, mode});
            EXPECT_EQ(mine.head, theirs.head);
            if (theirs.configurations.empty()) {
                // Nothing of this list is known, and the real library is asked.
                EXPECT_TRUE(mine.configurations.empty());
                continue;
            }
            EXPECT_EQ(mine.configurations,
                      texts_of(record, {.mode = mode == abi::k_mode_a ? abi::k_mode_instant : mode,
                                        .other_mode_answered = mode == abi::k_mode_fallback,
                                        .tensor_cores_may_be_refused =
                                            record.key.problem.find(" x=f32[") != std::string::npos}));
            ASSERT_FALSE(mine.configurations.empty());
            if (mode == abi::k_mode_instant || mode == abi::k_mode_a) {
                EXPECT_EQ(mine.configurations.front(), prepared.preferred.at(id));
                changed += mine.configurations.front() != theirs.configurations.front();
            }
            EXPECT_EQ(std::set<std::string>(mine.configurations.begin(), mine.configurations.end()).size(),
                      mine.configurations.size());
        }
    }
    EXPECT_GT(changed, prepared.ids.size()) << "most answers must differ from the real ones to show anything";
}

std::string read_file(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void serves_the_cached_configuration_first(const RealLibrary& library, const Prepared& prepared,
                                           const ChildResult& preloaded, const ChildResult& plain_run) {
    ASSERT_EQ(preloaded.exit_code, 0) << describe(preloaded);
    ASSERT_EQ(plain_run.exit_code, 0) << describe(plain_run);
    ASSERT_FALSE(prepared.ids.empty());
    std::printf("cuDNN %d: %zu problems\n", library.real.version, prepared.ids.size());
    expect_served(prepared, parse_list(preloaded.out), parse_list(plain_run.out));
}

TEST_F(RealServing, GivesADlsymClientTheCachedConfigurationFirst) {
    REQUIRE_DEVICELESS_CUDNN(library);
    const Prepared prepared = prepare(library, environment_of(library), 12);
    write_cache(cache_path(), prepared.records);
    const std::string before = read_file(cache_path());
    serves_the_cached_configuration_first(library, prepared,
                                          run(library, "list", prepared.ids, {.binding = Binding::dlsym}),
                                          run(library, "list", prepared.ids, {.preloaded = false}));
    EXPECT_EQ(read_file(cache_path()), before);
}

TEST_F(RealServing, GivesALinkedClientTheCachedConfigurationFirst) {
    REQUIRE_DEVICELESS_CUDNN(library);
    if (std::string(CUDNN_TUNE_TEST_LINKED_CLIENT).empty()) {
        GTEST_SKIP() << "no libcudnn.so.9 to link a client to was found when this was configured";
    }
    const Prepared prepared = prepare(library, environment_of(library), 12);
    write_cache(cache_path(), prepared.records);
    serves_the_cached_configuration_first(
        library, prepared, run(library, "list", prepared.ids, {.binding = Binding::linked}),
        run(library, "list", prepared.ids, {.binding = Binding::linked, .preloaded = false}));
}

TEST_F(RealServing, ChangesNothingWithACacheOfAnotherEnvironment) {
    REQUIRE_DEVICELESS_CUDNN(library);
    const std::vector<std::pair<std::string, void (*)(key::Environment&)>> changes = {
        {"cuDNN version", [](key::Environment& e) { ++e.cudnn_version; }},
        {"CUDA version", [](key::Environment& e) { ++e.cudart_major; }},
        {"GPU", [](key::Environment& e) { e.gpu_name = "NVIDIA H100 80GB HBM3"; }},
        {"SM count", [](key::Environment& e) { e.sm_count = 66; }},
        {"compute capability", [](key::Environment& e) { ++e.compute_minor; }},
        {"TF32 override", [](key::Environment& e) { e.tf32.assign(1, '0'); }},
    };
    const Prepared right = prepare(library, environment_of(library), 4);
    const ChildResult plain_run = run(library, "list", right.ids, {.preloaded = false});
    ASSERT_EQ(plain_run.exit_code, 0) << describe(plain_run);
    for (const auto& [name, change] : changes) {
        SCOPED_TRACE(name);
        key::Environment environment = environment_of(library);
        change(environment);
        Prepared wrong = right;
        for (cache::Record& record : wrong.records) {
            record.key.environment = key::to_text(environment);
        }
        write_cache(cache_path(), wrong.records);
        const ChildResult preloaded = run(library, "list", right.ids, {});
        EXPECT_EQ(preloaded.exit_code, 0) << describe(preloaded);
        EXPECT_EQ(preloaded.out, plain_run.out) << preloaded.err;
    }
    // The same records with the right environment are what the others lacked.
    write_cache(cache_path(), right.records);
    EXPECT_NE(run(library, "list", right.ids, {}).out, plain_run.out);
}

TEST_F(RealServing, KeepsTheTf32OverrideApart) {
    REQUIRE_DEVICELESS_CUDNN(library);
    const Prepared right = prepare(library, environment_of(library), 4);
    write_cache(cache_path(), right.records);
    const std::map<std::string, std::string> without_tf32 = {{"NVIDIA_TF32_OVERRIDE", "0"}};
    const ChildResult preloaded = run(library, "list", right.ids, {.environment = without_tf32});
    const ChildResult plain_run = run(library, "list", right.ids, {.preloaded = false, .environment = without_tf32});
    ASSERT_EQ(preloaded.exit_code, 0) << describe(preloaded);
    EXPECT_EQ(preloaded.out, plain_run.out) << preloaded.err;
}

TEST_F(RealServing, ChangesNothingWithoutACache) {
    REQUIRE_DEVICELESS_CUDNN(library);
    const Prepared prepared = prepare(library, environment_of(library), 4);
    const ChildResult plain_run = run(library, "list", prepared.ids, {.preloaded = false});
    ASSERT_EQ(plain_run.exit_code, 0) << describe(plain_run);
    const ChildResult missing = run(library, "list", prepared.ids, {});
    EXPECT_EQ(missing.out, plain_run.out) << missing.err;
    const ChildResult unset = run(library, "list", prepared.ids, {.environment = {{"CUDNN_TUNE_CACHE", ""}}});
    EXPECT_EQ(unset.out, plain_run.out) << unset.err;
    write_cache(cache_path(), prepared.records);
    const ChildResult off = run(library, "list", prepared.ids, {.environment = {{"CUDNN_TUNE_MODE", "off"}}});
    EXPECT_EQ(off.out, plain_run.out) << off.err;
}

TEST_F(RealServing, PassesOverAConfigurationThatCannotBeBuilt) {
    REQUIRE_DEVICELESS_CUDNN(library);
    Prepared prepared = prepare(library, environment_of(library), 4);
    const ChildResult plain_run = run(library, "list", prepared.ids, {.preloaded = false});
    ASSERT_EQ(plain_run.exit_code, 0) << describe(plain_run);
    // The preferred one is of an engine that does not exist; what comes next is served. In the last record all are.
    for (std::size_t i = 0; i < prepared.records.size(); ++i) {
        std::vector<cache::Candidate>& candidates = prepared.records[i].candidates;
        const key::Choice preferred = candidates.front().choice;
        for (cache::Candidate& candidate : candidates) {
            if (candidate.choice == preferred || i + 1 == prepared.records.size()) {
                std::get<key::GraphChoice>(candidate.choice).engine += 1'000'000;
            }
        }
    }
    write_cache(cache_path(), prepared.records);
    const ChildResult preloaded = run(library, "list", prepared.ids, {});
    ASSERT_EQ(preloaded.exit_code, 0) << describe(preloaded);
    const Answers served = parse_list(preloaded.out);
    const Answers real = parse_list(plain_run.out);
    for (std::size_t i = 0; i < prepared.ids.size(); ++i) {
        const std::string& id = prepared.ids[i];
        SCOPED_TRACE(id);
        const std::vector<std::string> expected = [&] {
            std::vector<std::string> texts = texts_of(prepared.records[i], {});
            std::erase_if(texts, [](const std::string& text) { return text.starts_with("eng1000"); });
            return texts;
        }();
        const Answer& mine = served.at({id, abi::k_mode_instant});
        // Only if nothing at all could be built does the real library answer.
        EXPECT_EQ(mine.configurations, expected.empty() ? real.at({id, abi::k_mode_instant}).configurations : expected);
    }
    EXPECT_EQ(served.at({prepared.ids.back(), abi::k_mode_instant}).configurations,
              real.at({prepared.ids.back(), abi::k_mode_instant}).configurations);
}

// A problem whose served list has room for requests of 3, so that counts must agree with the real library's.
std::optional<std::string> problem_with_three(const Prepared& prepared) {
    for (std::size_t i = 0; i < prepared.ids.size(); ++i) {
        if (texts_of(prepared.records[i], {}).size() >= 3) {
            return prepared.ids[i];
        }
    }
    return std::nullopt;
}

// Scenarios in which a program cannot tell the difference.
class RealServingLikeTheLibrary : public RealServing, public ::testing::WithParamInterface<const char*> {};

TEST_P(RealServingLikeTheLibrary, InCountsStatusesAndSlots) {
    REQUIRE_DEVICELESS_CUDNN(library);
    const Prepared prepared = prepare(library, environment_of(library), 6);
    const auto id = problem_with_three(prepared);
    ASSERT_TRUE(id) << "no sampled problem has three configurations to serve";
    write_cache(cache_path(), prepared.records);
    for (const Binding binding : {Binding::dlsym, Binding::linked}) {
        if (binding == Binding::linked && std::string(CUDNN_TUNE_TEST_LINKED_CLIENT).empty()) {
            continue;
        }
        const ChildResult preloaded = run(library, GetParam(), {*id}, {.binding = binding});
        const ChildResult plain_run = run(library, GetParam(), {*id}, {.binding = binding, .preloaded = false});
        ASSERT_EQ(plain_run.exit_code, 0) << describe(plain_run);
        ASSERT_EQ(preloaded.exit_code, 0) << describe(preloaded);
        EXPECT_EQ(preloaded.out, plain_run.out) << preloaded.err;
        EXPECT_FALSE(plain_run.out.empty());
    }
}

INSTANTIATE_TEST_SUITE_P(Scenarios, RealServingLikeTheLibrary,
                         ::testing::Values("partial", "slots", "errors", "no-device", "destroyed", "neighbours"),
                         [](const ::testing::TestParamInfo<const char*>& scenario) {
                             std::string name = scenario.param;
                             std::erase(name, '-');
                             return name;
                         });

TEST_F(RealServing, DoesNotTakeANewDescriptorForADestroyedOneAtItsAddress) {
    REQUIRE_DEVICELESS_CUDNN(library);
    const Prepared prepared = prepare(library, environment_of(library), 2);
    ASSERT_FALSE(prepared.ids.empty());
    write_cache(cache_path(), prepared.records);
    const ChildResult preloaded = run(library, "used-address", {prepared.ids[0]}, {});
    const ChildResult plain_run = run(library, "used-address", {prepared.ids[0]}, {.preloaded = false});
    ASSERT_EQ(preloaded.exit_code, 0) << describe(preloaded);
    EXPECT_NE(preloaded.err.find("address used again: yes"), std::string::npos) << preloaded.err;
    EXPECT_EQ(preloaded.out, plain_run.out);
}

TEST_F(RealServing, AnswersTheSameQuestionInOtherWords) {
    REQUIRE_DEVICELESS_CUDNN(library);
    const Prepared prepared = prepare(library, environment_of(library), 6);
    write_cache(cache_path(), prepared.records);
    const ChildResult preloaded = run(library, "equivalents", prepared.ids, {});
    ASSERT_EQ(preloaded.exit_code, 0) << describe(preloaded);
    const Answers served = parse_list(preloaded.out);
    for (std::size_t i = 0; i < prepared.ids.size(); ++i) {
        for (const char* const words :
             {"other ids", "alignment 32", "alignment 64", "alignment 256", "order of operations"}) {
            SCOPED_TRACE(prepared.ids[i] + ": " + words);
            EXPECT_EQ(served.at({prepared.ids[i] + ": " + words, abi::k_mode_instant}).configurations,
                      texts_of(prepared.records[i], {}));
        }
    }
}

TEST_F(RealServing, AnswersAHeuristicsDescriptorByItsLatestQuestion) {
    REQUIRE_DEVICELESS_CUDNN(library);
    const Prepared prepared = prepare(library, environment_of(library), 2);
    write_cache(cache_path(), prepared.records);
    for (std::size_t i = 0; i < std::min<std::size_t>(prepared.ids.size(), 2); ++i) {
        SCOPED_TRACE(prepared.ids[i]);
        const ChildResult preloaded = run(library, "reinitialized", {prepared.ids[i]}, {});
        const ChildResult plain_run = run(library, "reinitialized", {prepared.ids[i]}, {.preloaded = false});
        ASSERT_EQ(preloaded.exit_code, 0) << describe(preloaded);
        const auto second_question = [&](const std::string& text) { return text.find(prepared.ids[i] + " mode 0"); };
        ASSERT_NE(second_question(preloaded.out), std::string::npos) << preloaded.out;
        EXPECT_EQ(preloaded.out.substr(0, second_question(preloaded.out)),
                  plain_run.out.substr(0, second_question(plain_run.out)));
        const Answers served = parse_list(preloaded.out.substr(second_question(preloaded.out)));
        EXPECT_EQ(served.at({prepared.ids[i], abi::k_mode_instant}).configurations, texts_of(prepared.records[i], {}));
    }
}

}  // namespace
}  // namespace cudnn_tune::test
