// SPDX-License-Identifier: Apache-2.0
#include "cache/record_codec.hpp"

#include <gmock/gmock.h>

#include "../../storage/sample_records.hpp"

namespace cudnn_tune::cache {
namespace {

using test::RandomRecords;
using test::sample_record;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

std::string line_of(const Record& record) {
    auto line = encode_record(record);
    EXPECT_TRUE(line.ok()) << (line.ok() ? "" : line.error().message);
    return line.ok() ? *line : "";
}

// The line with another text between its prefix and its checksum, which is made to match.
std::string with_body_changed(std::string line, const std::string& from, const std::string& to) {
    const std::size_t at = line.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    line.replace(at, from.size(), to);
    line.resize(line.size() - 26);
    return line + ",\"sum\":\"" + to_hex(checksum_of(line)) + "\"}";
}

std::string reason_of(const std::string& line) {
    const auto record = decode_record(line);
    EXPECT_FALSE(record.ok());
    EXPECT_TRUE(record.ok() || record.error().category == ErrorCategory::corrupt);
    return record.ok() ? "" : record.error().message;
}

TEST(RecordCodec, WritesDigestAndRevisionFirstAndTheChecksumLast) {
    const Record record = sample_record(3, "me", 12);
    const std::string line = line_of(record);
    EXPECT_THAT(line, StartsWith("{\"digest\":\"" + to_hex(record.key.digest()) + "\",\"rev\":12,"));
    EXPECT_THAT(line, EndsWith(",\"sum\":\"" + to_hex(checksum_of(line.substr(0, line.size() - 26))) + "\"}"));
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_EQ(parse_prefix(line), (LinePrefix{record.key.digest(), 12}));
}

TEST(RecordCodec, ReadsBackWhatItWrote) {
    RandomRecords records(1);
    for (int i = 0; i < 500; ++i) {
        const Record record = records.next();
        const std::string line = line_of(record);
        const auto read = decode_record(line);
        ASSERT_TRUE(read.ok()) << read.error().message << "\n" << line;
        EXPECT_EQ(*read, record) << line;
        EXPECT_EQ(line_of(*read), line);
    }
}

TEST(RecordCodec, WritesTheLeadersAsObjectsAndTheRestAsShortArrays) {
    Record record = sample_record(1);
    record.candidates.assign(6, record.candidates[0]);
    record.candidates[5] = Candidate{};
    record.candidates[5].choice = GraphChoice{7, {{2, 1}, {12, -3}}};
    const std::string line = line_of(record);
    EXPECT_THAT(line, HasSubstr(R"({"choice":"algo1_math1","workspace_bytes":4096,"time_ns":12500,"spread_ns":90,)"));
    EXPECT_THAT(line, HasSubstr(R"(["algo1_math1","",0,4096,0,12500,90,7],["eng7_k2=1_k12=-3"]])"));
}

TEST(RecordCodec, ToleratesUnknownMembers) {
    const Record record = sample_record(1);
    const std::string line =
        with_body_changed(line_of(record), ",\"status\"", ",\"future\":{\"a\":[true,null,\"x\"]},\"status\"");
    const auto read = decode_record(line);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(*read, record);
    const auto in_candidate =
        decode_record(with_body_changed(line_of(record), "\"samples\":7", "\"samples\":7,\"z\":1"));
    ASSERT_TRUE(in_candidate.ok()) << in_candidate.error().message;
    EXPECT_EQ(*in_candidate, record);
}

TEST(RecordCodec, WritesWhatIsDeniedOnlyIfSomethingIs) {
    Record record = sample_record(1);
    EXPECT_EQ(line_of(record).find("denied"), std::string::npos);
    record.denied = {LegacyChoice{1, 1}, GraphChoice{38, {{2, 1}}}};
    const std::string line = line_of(record);
    EXPECT_THAT(line, HasSubstr(R"(,"heuristic":0,"denied":["algo1_math1","eng38_k2=1"],"candidates":)"));
    EXPECT_EQ(*decode_record(line), record);
    for (const char* const wrong : {"7", "[7]", "[\"algo\"]", "{}"}) {
        EXPECT_THAT(reason_of(with_body_changed(line, R"(["algo1_math1","eng38_k2=1"])", wrong)), HasSubstr("denied"));
    }
}

TEST(RecordCodec, UsesTheDefaultOfAnAbsentMember) {
    const auto read = decode_record(with_body_changed(line_of(sample_record(1)), ",\"heuristic\":0", ""));
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->heuristic, -1);
}

TEST(RecordCodec, RefusesALineWithAnyByteChanged) {
    const std::string line = line_of(sample_record(1));
    for (std::size_t i = 0; i < line.size(); ++i) {
        std::string changed = line;
        changed[i] = static_cast<char>(changed[i] ^ 1);
        EXPECT_FALSE(decode_record(changed).ok()) << "byte " << i;
    }
}

TEST(RecordCodec, RefusesALineCutAnywhere) {
    const std::string line = line_of(sample_record(1));
    for (std::size_t length = 0; length < line.size(); ++length) {
        EXPECT_FALSE(decode_record(line.substr(0, length)).ok()) << length;
    }
}

TEST(RecordCodec, SaysWhatIsWrongWithALineWhoseChecksumMatches) {
    const std::string line = line_of(sample_record(1));
    EXPECT_THAT(reason_of("hello"), HasSubstr("does not start with"));
    EXPECT_THAT(reason_of(std::string(k_max_line_bytes + 1, 'x')), HasSubstr("4 MiB"));
    EXPECT_THAT(reason_of(with_body_changed(line, "fwd x", "fwd  x")), HasSubstr("digest"));
    EXPECT_THAT(reason_of(with_body_changed(line, "\"measured\"", "\"guessed\"")), HasSubstr("status"));
    EXPECT_THAT(reason_of(with_body_changed(line, "\"measured\"", "7")), HasSubstr("status"));
    EXPECT_THAT(reason_of(with_body_changed(line, "\"api\"", "\"apo\"")), HasSubstr("key text"));
    EXPECT_THAT(reason_of(with_body_changed(line, "\"when\"", "\"whan\"")), HasSubstr("when"));
    EXPECT_THAT(reason_of(with_body_changed(line, "\"candidates\":[", "\"candidates\":3,\"c\":[")),
                HasSubstr("candidates"));
    EXPECT_THAT(reason_of(with_body_changed(line, "\"candidates\"", "\"c\"")), HasSubstr("candidates"));
    EXPECT_THAT(reason_of(with_body_changed(line, "\"heuristic\":0", "\"heuristic\":2")), HasSubstr("heuristic"));
    EXPECT_THAT(reason_of(with_body_changed(line, "\"heuristic\":0", "\"heuristic\":\"0\"")), HasSubstr("heuristic"));
    EXPECT_THAT(reason_of(with_body_changed(line, "\"tuning_ns\":2", "\"tuning_ns\":-2")), HasSubstr("tuning_ns"));
    EXPECT_THAT(reason_of(with_body_changed(line, "\"tuning_ns\":2", "\"tuning_ns\":2.")), HasSubstr("integer"));
    EXPECT_THAT(reason_of(with_body_changed(line, "\"by\"", "\"api\"")), HasSubstr("twice"));
    EXPECT_THAT(reason_of(with_body_changed(line, "\"by\":\"", "\"by\":\"\xff")), HasSubstr("no JSON"));
    EXPECT_THAT(reason_of(with_body_changed(line, "\"by\":\"", "\"by\":\"\xed\xa0\x80")), HasSubstr("no JSON"));
    EXPECT_THAT(reason_of(with_body_changed(line, "\"by\":", "\"by\":]")), HasSubstr("no JSON"));
}

TEST(RecordCodec, RefusesCandidatesThatCannotBe) {
    const std::string line = line_of(sample_record(1));
    const std::string whole = line.substr(line.find("\"candidates\":"));
    const std::string old = whole.substr(0, whole.size() - 26);
    for (const char* bad : {
             "[3]",
             "[[]]",
             "[[3]]",
             "[{}]",
             "[[\"algo1\"]]",
             "[[\"algo1_math1\",3]]",
             "[[\"algo1_math1\",\"\",-1]]",
             "[[\"algo1_math1\",\"\",\"\"]]",
             "[[\"algo1_math1\",\"\",0,-1]]",
             "[[\"algo1_math1\",\"\",0,0,0,-2]]",
             "[[\"algo1_math1\",\"\",0,0,0,0,0,0,0,0,0,0,0,0]]",
             "[{\"choice\":3}]",
             "[{\"rank\":0}]",
             "[{\"choice\":\"algo1_math1\",\"rank\":-1}]",
             "[{\"choice\":\"algo1_math1\",\"rank\":2147483648}]",
             "[{\"choice\":\"algo1_math1\",\"numerical_notes\":4294967296}]",
             "[{\"choice\":\"algo1_math1\",\"workspace_bytes\":-1}]",
             "[{\"choice\":\"algo1_math1\",\"not_run\":1}]",
         }) {
        EXPECT_THAT(reason_of(with_body_changed(line, old, "\"candidates\":" + std::string(bad))),
                    HasSubstr("candidate 0"))
            << bad;
    }
}

TEST(RecordCodec, IsBoundedOnHostileLines) {
    const std::string line = line_of(sample_record(1));
    const std::string deep = std::string(500000, '[') + std::string(500000, ']');
    EXPECT_THAT(reason_of(with_body_changed(line, ",\"status\"", ",\"x\":" + deep + ",\"status\"")),
                HasSubstr("deeply"));
    std::string members = "{\"m\":0";
    for (int i = 0; i < 100; ++i) {
        members += ",\"m" + std::to_string(i) + "\":0";
    }
    EXPECT_THAT(reason_of(with_body_changed(line, ",\"status\"", ",\"x\":" + members + "},\"status\"")),
                HasSubstr("too many members"));
    std::string values = "[0";
    for (int i = 0; i < 70000; ++i) {
        values += ",0";
    }
    EXPECT_THAT(reason_of(with_body_changed(line, ",\"status\"", ",\"x\":" + values + "],\"status\"")),
                HasSubstr("too many values"));
    EXPECT_THAT(reason_of(with_body_changed(line, ",\"status\"", ",\"x\":" + std::string(5000, '9') + ",\"status\"")),
                HasSubstr("no JSON"));
    EXPECT_THAT(reason_of(with_body_changed(line, ",\"status\"", ",\"x\":9007199254740992,\"status\"")),
                HasSubstr("out of range"));
    EXPECT_THAT(reason_of(with_body_changed(line, ",\"status\"", ",\"x\":-9007199254740992,\"status\"")),
                HasSubstr("out of range"));
    std::string candidates = "\"candidates\":[";
    for (int i = 0; i < 4097; ++i) {
        candidates += "[\"eng1\"],";
    }
    EXPECT_THAT(reason_of(with_body_changed(line, "\"candidates\":[", candidates)), HasSubstr("too many candidates"));
}

TEST(RecordCodec, RefusesToWriteWhatWouldNotReadBack) {
    Record record = sample_record(1);
    record.by = "\xff";
    EXPECT_EQ(encode_record(record).error().category, ErrorCategory::invalid);
    record = sample_record(1);
    record.revision = 0;
    EXPECT_EQ(encode_record(record).error().category, ErrorCategory::invalid);
    record = sample_record(1);
    record.candidates[0].time_ns = std::int64_t{1} << 53;
    EXPECT_EQ(encode_record(record).error().category, ErrorCategory::invalid);
    record = sample_record(1);
    record.candidates[0].workspace_bytes = -5;
    EXPECT_EQ(encode_record(record).error().category, ErrorCategory::invalid);
    record = sample_record(1);
    record.heuristic = 2;
    EXPECT_EQ(encode_record(record).error().category, ErrorCategory::invalid);
    record = sample_record(1);
    record.by = std::string(k_max_line_bytes, 'x');
    EXPECT_EQ(encode_record(record).error().category, ErrorCategory::invalid);
}

TEST(RecordCodec, ReadsChoicesExactly) {
    EXPECT_EQ(parse_choice("algo6_math2"), Choice(LegacyChoice{6, 2}));
    EXPECT_EQ(parse_choice("eng0"), Choice(GraphChoice{0, {}}));
    EXPECT_EQ(parse_choice("eng50_k2=7_k26=0"), Choice(GraphChoice{50, {{2, 7}, {26, 0}}}));
    for (const char* bad : {"", "algo", "algo1", "algo1_math", "algo1_math1 ", "algo-1_math0", "algo1_math-1", "eng",
                            "eng-1", "eng1_", "eng1_k", "eng1_k2", "eng1_k2=", "eng1_k2=1_", "eng1 k2=1",
                            "eng99999999999999999999", "algo99999999999_math0", "conv1"}) {
        EXPECT_EQ(parse_choice(bad), std::nullopt) << bad;
    }
}

TEST(LinePrefix, IsExact) {
    const std::string digits = "0123456789abcdef0123456789abcdef";
    EXPECT_TRUE(parse_prefix("{\"digest\":\"" + digits + "\",\"rev\":1,").has_value());
    EXPECT_TRUE(parse_prefix("{\"digest\":\"" + digits + "\",\"rev\":2147483647,").has_value());
    for (const std::string& bad :
         {"{\"digest\":\"" + digits + "\",\"rev\":1", "{\"digest\":\"" + digits + "\",\"rev\":1}",
          "{\"digest\":\"" + digits + "\",\"rev\":0,", "{\"digest\":\"" + digits + "\",\"rev\":01,",
          "{\"digest\":\"" + digits + "\",\"rev\":-1,", "{\"digest\":\"" + digits + "\",\"rev\":2147483648,",
          "{\"digest\":\"" + digits + "\",\"rev\":,", "{\"digest\":\"" + digits + "\" ,\"rev\":1,",
          " {\"digest\":\"" + digits + "\",\"rev\":1,", std::string("{\"digest\":\"0123\",\"rev\":1,"),
          "{\"digest\":\"" + digits.substr(1) + "g\",\"rev\":1,",
          "{\"digest\":\"" + digits.substr(1) + "F\",\"rev\":1,", std::string("{\"digest\":\""), std::string()}) {
        EXPECT_EQ(parse_prefix(bad), std::nullopt) << bad;
    }
}

TEST(Header, TellsItsVersion) {
    EXPECT_EQ(parse_header(k_header_line), k_format_version);
    EXPECT_EQ(parse_header(R"({"format":"cudnn-tune","version":12,"more":true})"), 12);
    for (const char* bad : {"", "{\"format\":\"cudnn-tune\"}", "{\"format\":\"cudnn-tune\",\"version\":",
                            "{\"format\":\"cudnn-tune\",\"version\":0}", "{\"format\":\"cudnn-tune\",\"version\":x}",
                            "{\"format\":\"other\",\"version\":1}", "{\"format\":\"cudnn-tune\",\"version\":1"}) {
        EXPECT_EQ(parse_header(bad), std::nullopt) << bad;
    }
}

}  // namespace
}  // namespace cudnn_tune::cache
