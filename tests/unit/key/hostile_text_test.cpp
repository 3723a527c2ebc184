// SPDX-License-Identifier: Apache-2.0
// Texts that a damaged or malicious cache file could hold. Each is refused with a sentence, never a crash.
#include <gtest/gtest.h>

#include <string>

#include "key/environment.hpp"
#include "key/names.hpp"
#include "key/text_reader.hpp"
#include "samples.hpp"

namespace cudnn_tune::key {
namespace {

const std::string k_tensors = "x=f16[2,64,5,5]:nchw w=f16[2,64,3,3]:nchw y=f16[2,2,5,5]:nchw ";
const std::string k_convolution = "pad=1,1 stride=1,1 dil=1,1 groups=1 mode=xcorr compute=f32";
const std::string k_good = "fwd " + k_tensors + k_convolution;

std::string with(std::string text, std::string_view from, std::string_view to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

void expect_refused(const std::string& text) {
    const auto read = parse_problem(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().category, ErrorCategory::invalid);
    EXPECT_EQ(read.error().message, "not a canonical problem text");
}

TEST(ProblemParser, AcceptsTheTextThatTheOthersAreMadeFrom) { EXPECT_TRUE(parse_problem(k_good).ok()); }

TEST(ProblemParser, RefusesSecondSpellings) {
    for (const auto& [from, to] :
         std::initializer_list<std::pair<const char*, const char*>>{{"64", "064"},
                                                                    {"pad=1,1", "pad=+1,1"},
                                                                    {"pad=1,1", "pad=1,1/1,1"},
                                                                    {"pad=1,1", "pad=-0,1"},
                                                                    {"f16[", "dtype2["},
                                                                    {"mode=xcorr", "mode=mode1"},
                                                                    {"[2,64,5,5]:nchw", "[2,64,5,5]:(1600,25,5,1)"},
                                                                    {"[2,64,5,5]:nchw", "[2,64,5,5]:nchw:vec1@-1"},
                                                                    {"[2,64,5,5]:nchw", "[2,64,5,5]:nchw:reorder=none"},
                                                                    {"[2,64,5,5]:nchw", "[2,1,1,1]:nhwc"},
                                                                    {"x=", " x="},
                                                                    {"fwd ", "FWD "},
                                                                    {"compute=f32", "compute=f32 "},
                                                                    {"compute=f32", "compute=f32\n"},
                                                                    {"compute=f32", "compute=dtype+99"},
                                                                    {"compute=f32", "compute=dtype099"}}) {
        expect_refused(with(k_good, from, to));
    }
}

TEST(ProblemParser, RefusesSuffixesInAnotherOrder) {
    EXPECT_TRUE(parse_problem(with(k_good, ":nchw", ":nchw:vec4@1:virtual:by_value:reorder=f16x16")).ok());
    expect_refused(with(k_good, ":nchw", ":nchw:by_value:virtual"));
    expect_refused(with(k_good, ":nchw", ":nchw:virtual:vec4@1"));
    expect_refused(with(k_good, ":nchw", ":nchw:virtual:virtual"));
}

TEST(ProblemParser, RefusesListsOfTheWrongLength) {
    for (const auto& [from, to] :
         std::initializer_list<std::pair<const char*, const char*>>{{"[2,64,5,5]:nchw", "[2,64,5,5]:(1,2,3)"},
                                                                    {"[2,64,5,5]:nchw", "[2,64,5,5]:(1,2,3,4,5)"},
                                                                    {"[2,64,5,5]", "[1,2,3,4,5,6,7,8,9]"},
                                                                    {"[2,64,5,5]", "[2,64,5,]"},
                                                                    {"[2,64,5,5]", "[,]"},
                                                                    {"[2,64,5,5]:nchw", "[2,64]:nhwc"},
                                                                    {"pad=1,1", "pad=1"},
                                                                    {"pad=1,1", "pad="},
                                                                    {"pad=1,1", "pad=1,1/2"},
                                                                    {"pad=1,1", "pad=1,1/"},
                                                                    {"pad=1,1", "pad=1,1,1,1,1,1,1"},
                                                                    {"stride=1,1", "stride=1,1,1"},
                                                                    {"dil=1,1", "dil=1"}}) {
        expect_refused(with(k_good, from, to));
    }
}

TEST(ProblemParser, RefusesNumbersOutOfRange) {
    for (const auto& [from, to] : std::initializer_list<std::pair<const char*, const char*>>{
             {"[2,", "[9223372036854775808,"},
             {"[2,", "[-9223372036854775809,"},
             {"[2,64,5,5]:nchw", "[2,9223372036854775807,9223372036854775807,2]:nchw"},
             {"compute=f32", "compute=dtype2147483648"},
             {"compute=f32", "compute=dtype"},
             {"compute=f32", "compute="},
             {"groups=1", "groups=0x1"},
             {"groups=1", "groups="},
             {"groups=1", "groups=1.0"}}) {
        expect_refused(with(k_good, from, to));
    }
    const auto largest = parse_problem(with(k_good, "groups=1", "groups=-9223372036854775808"));
    ASSERT_TRUE(largest.ok());
    EXPECT_EQ(largest->convolution.groups, std::numeric_limits<std::int64_t>::min());
}

TEST(ProblemParser, RefusesBrokenFusedSections) {
    const std::string tensor = "t3=f16[1,2,1,1]:nchw";
    EXPECT_TRUE(parse_problem(k_good + " | " + tensor + " | add(y,t3)->t3 prec=f32 axis=1 alpha1=a").ok());
    for (const std::string tail : {" |",
                                   " | ",
                                   " | |",
                                   " | add",
                                   " | add()",
                                   " | add(",
                                   " | add(y",
                                   " | add(y)",
                                   " | add(y)->",
                                   " | add(y)->y",
                                   " | add(y)->y prec=",
                                   " | add(y)->y prec=f32 ",
                                   " | add(y)->y prec=f32 axis",
                                   " | add(y)->y prec=f32  axis=1",
                                   " | add(y)->y prec=f32 axis=1 axis=1",
                                   " | add(y)->y prec=f32 alpha1=1 axis=1",
                                   " | add(y)->y prec=f32 axis=%",
                                   " | add(y)->y prec=f32 axis=%0",
                                   " | add(y)->y prec=f32 axis=%zz",
                                   " | add(y)->y prec=f32 axis=%41",
                                   " | add(y)->y prec=f32 axis=%c3",
                                   " | add(y)->y prec=f32 attr9=1",
                                   " | add(y)->y prec=f32 colour=1",
                                   " | add(y,_)->y prec=f32",
                                   " | add(_)->y prec=f32",
                                   " | add(y,x,w,x)->y prec=f32",
                                   " | add(t3)->y prec=f32",
                                   " | add(t-1)->y prec=f32",
                                   " | add(t2)->y prec=f32",
                                   " | add(y,)->y prec=f32",
                                   " | add(y)->z prec=f32",
                                   " | pointwise0(y)->y prec=f32",
                                   " | (y)->y prec=f32",
                                   " | t4=f16[1]:nchw",
                                   " | t3=f16[1]:nchw t3=f16[1]:nchw",
                                   " | t3=f16[1]:nchw t5=f16[1]:nchw",
                                   " | t3=f16[1]",
                                   " | t3=f16[1]:nchw | t4=f16[1]:nchw",
                                   " | add(y)->y prec=f32 | t3=f16[1]:nchw"}) {
        expect_refused(k_good + tail);
    }
}

std::string with_extra_tensors(int count) {
    std::string text = k_good + " |";
    for (int i = 3; i < 3 + count; ++i) {
        text += " t" + std::to_string(i) + "=f16[1]:nchw";
    }
    return text;
}

TEST(ProblemParser, BoundsTheNumberOfTensorsOperationsAndAttributes) {
    EXPECT_TRUE(parse_problem(with_extra_tensors(61)).ok());
    expect_refused(with_extra_tensors(62));

    std::string operations = k_good;
    for (int i = 0; i < 64; ++i) {
        operations += " | add(y)->y prec=f32";
    }
    EXPECT_TRUE(parse_problem(operations).ok());
    expect_refused(operations + " | add(y)->y prec=f32");

    std::string attributes = k_good + " | add(y)->y prec=f32";
    for (int i = 0; i < 64; ++i) {
        attributes += " attr" + std::to_string(1000 + i) + "=";
    }
    EXPECT_TRUE(parse_problem(attributes).ok());
    expect_refused(attributes + " attr2000=");
}

TEST(Parsers, RefuseTextsThatAreTooLong) {
    const std::string padding(k_max_text_bytes, 'a');
    expect_refused(k_good + " | add(y)->y prec=f32 axis=" + padding);
    EXPECT_FALSE(parse_environment("cudnn=1 cudart=1 cc=1.0 sm=1 tf32=unset gpu=" + padding).ok());
    EXPECT_FALSE(parse_api_part("legacy math=default reorder=default" + padding).ok());
    const std::string fits = padding.substr(0, 1000);
    EXPECT_TRUE(parse_environment("cudnn=1 cudart=1 cc=1.0 sm=1 tf32=unset gpu=" + fits).ok());
}

TEST(Parsers, RefuseWhatIsNoTextAtAll) {
    using namespace std::string_literals;
    for (const std::string& text :
         {""s, " "s, "\n"s, "\0"s, "fwd"s, "{}"s, "\xFF\xFE"s, std::string(1000, '['), std::string(1000, '%')}) {
        expect_refused(text);
        EXPECT_FALSE(parse_api_part(text).ok());
        EXPECT_FALSE(parse_environment(text).ok());
    }
    expect_refused(k_good + std::string(1, '\0'));
    expect_refused("bwd " + k_tensors + k_convolution);
}

TEST(ApiPartParser, RefusesWhatItWouldNotWrite) {
    for (const char* text :
         {"legacy math=math1 reorder=default", "legacy math=tensor_op", "legacy math=tensor_op reorder=",
          "legacy math=tensor_op reorder=default ", "legacy math= reorder=default", "graph align=16",
          "graph align=16 alpha=2:f64 beta=0:f64 sm=unset", "graph align=16 alpha=1 beta=0:f64 sm=unset",
          "graph align=16 alpha=1:f64 beta=0:f64 sm=-1", "graph align=16 alpha=1:type5 beta=0:f64 sm=unset",
          "graph align=16 alpha=1:f64 beta=0:f64 sm=", "graph align=16, alpha=1:f64 beta=0:f64 sm=unset",
          "graph align=016 alpha=1:f64 beta=0:f64 sm=unset", "graph align=16 alpha=1:f64 beta=0:f64 sm=unset x",
          "graph align=16 alpha=1:f64 beta=x:f64 sm=unset"}) {
        const auto read = parse_api_part(text);
        ASSERT_FALSE(read.ok()) << text;
        EXPECT_EQ(read.error().message, "not a canonical API text");
    }
    std::string many = "graph align=16";
    for (int i = 1; i < 64; ++i) {
        many += ",16";
    }
    EXPECT_TRUE(parse_api_part(many + " alpha=1:f64 beta=0:f64 sm=unset").ok());
    EXPECT_FALSE(parse_api_part(many + ",16 alpha=1:f64 beta=0:f64 sm=unset").ok());
}

TEST(EnvironmentParser, RefusesWhatItWouldNotWrite) {
    for (const char* text :
         {"cudnn=91900 cudart=13 cc=9.0 sm=132 tf32=unset", "cudnn=91900 cudart=13 cc=9 sm=132 tf32=unset gpu=a",
          "cudnn=091900 cudart=13 cc=9.0 sm=132 tf32=unset gpu=a", "cudnn= cudart=13 cc=9.0 sm=132 tf32=unset gpu=a",
          "cudnn=91900 cudart=13 cc=9.0 sm=99999999999 tf32=unset gpu=a",
          "cudnn=91900 cudart=13 cc=9.0 sm=132 tf32=a b gpu=a", "cudnn=91900 cudart=13 cc=9.0 sm=132 tf32=%zz gpu=a",
          "cudnn=91900 cudart=13 cc=9.0 sm=132 tf32=unset gpu=%20",
          "cudnn=91900 cudart=13 cc=9.0 sm=132 tf32=unset gpu=%",
          "cudnn=91900 cudart=13 cc=9.0 sm=132 tf32=unset gpu=a\tb"}) {
        const auto read = parse_environment(text);
        ASSERT_FALSE(read.ok()) << text;
        EXPECT_EQ(read.error().message, "not a canonical environment text");
    }
}

TEST(ProblemText, ReadsNothingBeyondItsArrays) {
    Problem problem = resnet_problem();
    problem.x().nb_dims = 1000;
    problem.w().nb_dims = -5;
    problem.convolution.nb_spatial = 1000;
    problem.pointwise = {PointwiseOperation{.x = -7, .attributes = {}}};
    problem.direction = static_cast<Direction>(9);
    EXPECT_FALSE(parse_problem(to_text(problem)).ok());
    problem.tensors.clear();
    EXPECT_FALSE(parse_problem(to_text(problem)).ok());
}

TEST(Names, OfDirectionsDataTypesAndMathTypes) {
    EXPECT_EQ(name_of(Direction::backward_filter), "bwd_filter");
    EXPECT_EQ(name_of_dtype(abi::k_bfloat16), "bf16");
    EXPECT_EQ(name_of_dtype(abi::k_data_type_count), "?");
    EXPECT_EQ(name_of_math(abi::k_fma_math), "fma");
    EXPECT_EQ(name_of_math(-1), "?");
}

TEST(Names, AreUniqueInTheirTableAndNeverLookLikeANumber) {
    for (const NameTable* table :
         {&k_data_type_names, &k_math_type_names, &k_reorder_type_names, &k_convolution_mode_names,
          &k_tensor_reordering_names, &k_pointwise_mode_names, &k_pointwise_attribute_names, &k_attribute_type_names}) {
        for (const NamedNumber& entry : table->names) {
            EXPECT_EQ(find_number(*table, entry.name), entry.number) << entry.name;
            EXPECT_EQ(find_name(*table, entry.number), entry.name);
        }
        EXPECT_EQ(find_number(*table, std::string(table->prefix) + "-12"), -12);
        EXPECT_FALSE(find_number(*table, "no such name"));
    }
}

}  // namespace
}  // namespace cudnn_tune::key
