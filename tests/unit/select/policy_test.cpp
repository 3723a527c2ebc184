// SPDX-License-Identifier: Apache-2.0
#include "select/policy.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace cudnn_tune::select {
namespace {

namespace fs = std::filesystem;

const std::string k_format = std::string(CUDNN_TUNE_TEST_DATA) + "/../../../cache_format";

const key::KeyText k_forward{
    "fwd x=f16[32,64,56,56]:nhwc w=f16[128,64,3,3]:nhwc y=f16[32,128,56,56]:nhwc pad=1,1 stride=1,1 dil=1,1 groups=1 "
    "mode=xcorr compute=f32",
    "legacy math=tensor_op reorder=default", "cudnn=91002 cudart=13 cc=9.0 sm=132 tf32=unset gpu=NVIDIA H200"};
const key::KeyText k_depthwise{
    "bwd_filter x=f32[1,32,8,8]:nchw w=f32[32,1,5,5]:nchw y=f32[1,32,8,8]:nchw pad=2,2 stride=1,1 dil=1,1 groups=32 "
    "mode=xcorr compute=f32",
    "graph align=16,16,16 alpha=1:f64 beta=0:f64 sm=unset",
    "cudnn=8907 cudart=12 cc=8.6 sm=84 tf32=unset gpu=NVIDIA GeForce RTX 3090"};

std::string contents_of(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string mistake_of(const std::string& text) {
    const auto policy = parse_policy(text);
    return policy.ok() ? "none" : policy.error().message;
}

// What a policy of one rule with this match says for a key.
bool fits(const std::string& match, const key::KeyText& key) {
    const auto policy = parse_policy(R"({"rules": [{"match": )" + match + R"(, "upgrade": true}]})");
    EXPECT_TRUE(policy.ok()) << match << ": " << policy.error().message;
    return policy.ok() && terms_for(*policy, key).upgrade;
}

TEST(Policy, RestrictsNothingByDefault) {
    const auto policy = parse_policy("{}");
    ASSERT_TRUE(policy.ok());
    const Terms terms = terms_for(*policy, k_forward);
    EXPECT_EQ(terms.results, ResultMode::frontier);
    EXPECT_EQ(terms.verify, Verify::off);
    EXPECT_EQ(terms.objective, Objective::balanced);
    EXPECT_EQ(terms.nearest, Nearest::off);
    EXPECT_FALSE(terms.upgrade);
    EXPECT_FALSE(terms.restrict_candidates());
}

TEST(Policy, SaysAllThatItsMembersCanSay) {
    const auto policy = parse_policy(R"({"results": "best", "verify": "all", "objective": "startup", "nearest": "size",
        "upgrade": true, "deterministic": true, "workspace": "2M", "forbid": ["winograd", "tf32"],
        "deny": ["algo6", "eng38_k2=1_k26=0"], "deny_notes": ["fft", "runtime_compilation"], "pin": "algo1_math3"})");
    ASSERT_TRUE(policy.ok()) << policy.error().message;
    const Terms terms = terms_for(*policy, k_depthwise);
    EXPECT_EQ(terms.results, ResultMode::best);
    EXPECT_EQ(terms.verify, Verify::all);
    EXPECT_EQ(terms.objective, Objective::startup);
    EXPECT_EQ(terms.nearest, Nearest::size);
    EXPECT_TRUE(terms.upgrade);
    EXPECT_TRUE(terms.deterministic);
    EXPECT_EQ(terms.workspace_bytes, 2 << 20);
    EXPECT_EQ(terms.forbidden, static_cast<std::uint32_t>(k_winograd) | k_tf32);
    ASSERT_EQ(terms.denied.size(), 2U);
    EXPECT_EQ(terms.denied[0], (ChoicePattern{.algorithm = 6}));
    EXPECT_EQ(terms.denied[1], (ChoicePattern{.engine = 38, .knobs = {{2, 1}, {26, 0}}}));
    EXPECT_EQ(terms.denied_numerical_notes, 1U << 3);
    EXPECT_EQ(terms.denied_behavior_notes, 1U << 0);
    EXPECT_EQ(terms.pin, (ChoicePattern{.algorithm = 1, .math_type = 3}));
}

TEST(Policy, LetsLaterRulesOverrideAndAddsUpWhatIsRefused) {
    const auto policy = parse_policy(R"({"deterministic": true, "deny": "eng1", "workspace": 100, "rules": [
        {"match": {"api": "graph"}, "deny": "eng2", "workspace": 200, "pin": "eng7"},
        {"match": {"depthwise": true}, "deterministic": false, "deny": "eng3", "pin": "eng8"},
        {"match": {"direction": "fwd"}, "workspace": 300}]})");
    ASSERT_TRUE(policy.ok()) << policy.error().message;
    const Terms terms = terms_for(*policy, k_depthwise);
    EXPECT_FALSE(terms.deterministic);
    EXPECT_EQ(terms.workspace_bytes, 200);
    EXPECT_EQ(terms.denied.size(), 3U);
    EXPECT_EQ(terms.pin, (ChoicePattern{.engine = 8}));
    const Terms others = terms_for(*policy, k_forward);
    EXPECT_TRUE(others.deterministic);
    EXPECT_EQ(others.workspace_bytes, 300);
    EXPECT_EQ(others.denied.size(), 1U);
    EXPECT_FALSE(others.pin);
}

TEST(Policy, FitsProblemsByEveryField) {
    const std::vector<std::pair<std::string, bool>> matches = {
        {R"({})", true},
        {R"({"problem": "fwd x=f16[*"})", true},
        {R"({"problem": "*:nchw *"})", false},
        {R"({"problem": ["*:nchw *", "*groups=1 *"]})", true},
        {R"({"api": "legacy"})", true},
        {R"({"api": "graph"})", false},
        {R"({"direction": ["bwd_data", "fwd"]})", true},
        {R"({"direction": "bwd_data"})", false},
        {R"({"dtype": "f16"})", true},
        {R"({"dtype": ["bf16", "f32"]})", false},
        {R"({"layout": "nhwc"})", true},
        {R"({"layout": ["nchw", "other"]})", false},
        {R"({"filter": "3x3"})", true},
        {R"({"filter": ["1x1", "3"]})", false},
        {R"({"batch": 32})", true},
        {R"({"batch": "33.."})", false},
        {R"({"channels": "60..64", "outputs": 128})", true},
        {R"({"channels": [1, 3, 4]})", false},
        {R"({"outputs": "..127"})", false},
        {R"({"groups": 1})", true},
        {R"({"groups": "2.."})", false},
        {R"({"depthwise": false, "fused": false})", true},
        {R"({"fused": true})", false},
        {R"({"gpu": "NVIDIA H?00"})", true},
        {R"({"gpu": "NVIDIA H"})", false},
        {R"({"cc": "9.0", "sm": 132})", true},
        {R"({"cc": "8.0"})", false},
        {R"({"sm": "..131"})", false},
        {R"({"cudnn": "9.8..9.10"})", true},
        {R"({"cudnn": "9.10.2"})", true},
        {R"({"cudnn": "9.10.3.."})", false},
        {R"({"cudnn": "..9.9"})", false},
        {R"({"cudnn": ["8", "9"]})", true},
        {R"({"batch": 32, "gpu": "NVIDIA A100"})", false},
    };
    for (const auto& [match, expected] : matches) {
        EXPECT_EQ(fits(match, k_forward), expected) << match;
    }
    EXPECT_TRUE(fits(R"({"depthwise": true, "groups": 32, "layout": "nchw", "filter": "5x5"})", k_depthwise));
    EXPECT_TRUE(fits(R"({"cudnn": "8.9", "gpu": "*RTX*"})", k_depthwise)) << "8.9.7 is 8907";
    EXPECT_FALSE(fits(R"({"cudnn": "9.."})", k_depthwise));
    EXPECT_FALSE(fits(R"({"cudnn": "..8.8"})", k_depthwise));
}

TEST(Policy, FitsLayoutsThatHaveNoNameAsOther) {
    key::KeyText strided = k_depthwise;
    strided.problem.replace(strided.problem.find(":nchw"), 5, ":(4096,128,16,2)");
    EXPECT_TRUE(fits(R"({"layout": "other"})", strided));
    EXPECT_FALSE(fits(R"({"layout": ["nchw", "nhwc"]})", strided));
    EXPECT_FALSE(fits(R"({"layout": "other"})", k_depthwise));
}

// Members come in alphabetical order: these are read when there are rules already.
TEST(Policy, KeepsWhatHoldsForAllBesideManyRules) {
    const auto policy = parse_policy(R"({"rules": [{}, {}, {}, {}, {}], "verify": "all", "workspace": 7})");
    ASSERT_TRUE(policy.ok()) << policy.error().message;
    EXPECT_EQ(policy->rules.size(), 6U);
    EXPECT_EQ(policy->rules.front().verify, Verify::all);
    EXPECT_EQ(policy->rules.front().workspace_bytes, 7);
}

TEST(Policy, NamesAMistakeWithItsPlace) {
    const std::vector<std::pair<std::string, std::string>> mistakes = {
        {"{\"results\": ", "line 1, column 13: it is not JSON"},
        {"{\n  \"results\": \"best\",\n  oops\n}", "line 3, column 3: it is not JSON"},
        {"", "line 1, column 1: it is not JSON"},
        {"{\"nearest\": 1e999999}", "a number in it is out of range"},
        {"[]", "it is not a JSON object"},
        {R"({"resluts": "best"})", "/resluts: there is no such member"},
        {R"({"results": 3})", "/results: is none of frontier, best"},
        {R"({"match": {}})", "/match: only a rule in \"rules\" has a \"match\""},
        {R"({"rules": {}})", "/rules: is not a list"},
        {R"({"rules": [{}, 3]})", "/rules/1: a rule is an object"},
        {R"({"rules": [{"rules": []}]})", "/rules/0/rules: there is no such member"},
        {R"({"rules": [{"match": {"gpu": 3}}]})", "/rules/0/match/gpu: is not a text"},
        {R"({"rules": [{"match": {"gpus": "x"}}]})", "/rules/0/match/gpus: there is no such member"},
        {R"({"rules": [{"match": {"cudnn": "9.x"}}]})",
         "/rules/0/match/cudnn: is no range of versions like \"9.8..9.10\""},
        {R"({"rules": [{"match": {"cudnn": ["9", "9.10..9.8"]}}]})",
         "/rules/0/match/cudnn/1: is no range of versions like \"9.8..9.10\""},
        {R"({"rules": [{"match": {"batch": -1}}]})",
         "/rules/0/match/batch: is neither a number nor a range like \"2..64\""},
        {R"({"rules": [{"match": {"batch": ".."}}]})",
         "/rules/0/match/batch: is neither a number nor a range like \"2..64\""},
        {R"({"rules": [{"match": {"dtype": "half"}}]})", "/rules/0/match/dtype: is no data type like f16"},
        {R"({"rules": [{"match": {"direction": "bwd"}}]})",
         "/rules/0/match/direction: is none of fwd, bwd_data, bwd_filter"},
        {R"({"deny": ["algo1", "algo"]})", "/deny/1: is no choice like algo6, algo1_math0, eng14 or eng38_k2=1"},
        {R"({"deny": "eng1_k2"})", "/deny: is no choice like algo6, algo1_math0, eng14 or eng38_k2=1"},
        {R"({"pin": ["algo1"]})", "/pin: is no choice like algo6, algo1_math0, eng14 or eng38_k2=1"},
        {R"({"deny_notes": "tensor_cores"})", "/deny_notes: is no note of cuDNN's"},
        {R"({"forbid": ["bf16"]})", "/forbid/0: is none of winograd, fft, tf32, down_convert, reduced_reduction"},
        {R"({"deterministic": 1})", "/deterministic: is neither true nor false"},
        {R"({"workspace": "10%"})", "/workspace: is no number of bytes like 268435456 or \"256M\""},
        {R"({"workspace": -1})", "/workspace: is no number of bytes like 268435456 or \"256M\""},
        {R"({"results": "best", "results": "frontier"})", "an object has the member \"results\" twice"},
        {R"({"rules": [{"match": {"gpu": [["x"]]}}]})", "/rules/0/match/gpu/0: is not a text"},
    };
    for (const auto& [text, mistake] : mistakes) {
        EXPECT_EQ(mistake_of(text), mistake) << text;
    }
}

TEST(Policy, IsBoundedWhateverTheFileHolds) {
    EXPECT_EQ(mistake_of(std::string(1 << 20, '[')), "it is larger than 64 KiB");
    EXPECT_EQ(mistake_of(std::string(30000, '[') + std::string(30000, ']')), "it is nested more than 6 levels deep");
    std::string deep = R"({"rules": )";
    for (int i = 0; i < 2000; ++i) {
        deep += R"({"match": )";
    }
    EXPECT_EQ(mistake_of(deep + "1" + std::string(2001, '}')), "it is nested more than 6 levels deep");
}

TEST(Policy, ExamplesAreReadAndHoldWhatTheSchemaKnows) {
    const auto schema = nlohmann::json::parse(contents_of(k_format + "/policy.schema.json"));
    std::set<std::string> in_examples;
    for (const auto& entry : fs::directory_iterator(k_format + "/policy")) {
        const std::string text = contents_of(entry.path());
        EXPECT_EQ(mistake_of(text), "none") << entry.path();
        const auto add = [&](const std::string& kind, const nlohmann::json& object) {
            for (const auto& [name, value] : object.items()) {
                in_examples.insert(kind + name);
            }
        };
        const auto json = nlohmann::json::parse(text);
        add("", json);
        for (const auto& rule : json.value("rules", nlohmann::json::array())) {
            add("", rule);
            add("match/", rule.value("match", nlohmann::json::object()));
        }
    }
    std::set<std::string> in_schema;
    for (const auto& object : {schema["properties"], schema["$defs"]["rule"]["properties"]}) {
        for (const auto& [name, value] : object.items()) {
            in_schema.insert(name);
            const bool is_known =
                mistake_of("{\"rules\": [{\"" + name + "\": null}]}").find("no such member") == std::string::npos;
            EXPECT_EQ(is_known, name != "$schema" && name != "rules" && name != "trusted_group") << name;
        }
    }
    for (const auto& [name, value] : schema["$defs"]["match"]["properties"].items()) {
        in_schema.insert("match/" + name);
    }
    EXPECT_EQ(in_examples, in_schema);
}

TEST(Glob, StandsForAnythingByStarsAndForOneByQuestionMarks) {
    EXPECT_TRUE(glob_matches("", ""));
    EXPECT_TRUE(glob_matches("*", ""));
    EXPECT_TRUE(glob_matches("a*b*c", "axxbxxbc"));
    EXPECT_TRUE(glob_matches("*b", "abb"));
    EXPECT_TRUE(glob_matches("a?c", "abc"));
    EXPECT_TRUE(glob_matches("x=f16[32,*]", "x=f16[32,64]")) << "brackets are themselves";
    EXPECT_FALSE(glob_matches("a?c", "ac"));
    EXPECT_FALSE(glob_matches("a*b", "abc"));
    EXPECT_FALSE(glob_matches("", "a"));
    EXPECT_FALSE(glob_matches("[a]", "a"));
    EXPECT_FALSE(glob_matches(std::string(1000, '*') + "b", std::string(60000, 'a')));
}

TEST(Policy, TrustsAGroupForAllAndNotInARule) {
    EXPECT_EQ(parse_policy(R"({"trusted_group": "staff"})")->trusted_group, "staff");
    EXPECT_EQ(parse_policy("{}")->trusted_group, "");
    EXPECT_FALSE(parse_policy(R"({"trusted_group": 7})").ok());
    EXPECT_FALSE(parse_policy(R"({"trusted_group": ""})").ok());
    EXPECT_FALSE(parse_policy(R"({"rules": [{"match": {}, "trusted_group": "staff"}]})").ok());
}

}  // namespace
}  // namespace cudnn_tune::select
