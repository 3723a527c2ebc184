// SPDX-License-Identifier: Apache-2.0
#include "compile/kernel_entry.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "kernel_samples.hpp"

namespace cudnn_tune::compile {
namespace {

using ::testing::HasSubstr;

// Puts the right checksum on a header line without one ("{...") and a payload.
std::string with_checksum(const std::string& header, const std::string& payload) {
    return header + ",\"checksum\":\"" + to_hex(digest_of(header + payload)) + "\"}\n" + payload;
}

ErrorCategory category_of(const std::string& file) {
    const auto entry = decode(file);
    EXPECT_FALSE(entry.ok());
    return entry.ok() ? ErrorCategory::io : entry.error().category;
}

TEST(KernelEntry, ComesBackFromItsFile) {
    KernelEntry entry = sample_entry();
    entry.ptx = std::string("ptx\0", 4);
    entry.ltoir = "";
    entry.lowered_names = {{"k<int>", "_Z1kIiEvv"}, {"k<\n\xff>", ""}};
    const auto back = decode(encode(entry));
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(back->key, entry.key);
    EXPECT_EQ(back->compiler, entry.compiler);
    EXPECT_EQ(back->program_name, entry.program_name);
    EXPECT_EQ(back->options, entry.options);
    EXPECT_EQ(back->compile_ns, entry.compile_ns);
    EXPECT_EQ(back->cubin, entry.cubin);
    EXPECT_EQ(back->ptx, entry.ptx);
    EXPECT_EQ(back->ltoir, "");
    EXPECT_EQ(back->log, entry.log);
    EXPECT_EQ(back->lowered_names, entry.lowered_names);
    EXPECT_EQ(*back->lowered_name("k<int>"), "_Z1kIiEvv");
    EXPECT_EQ(back->lowered_name("k<float>"), nullptr);
}

TEST(KernelEntry, TellsUnknownFromEmpty) {
    KernelEntry entry = sample_entry();
    entry.cubin = "";
    const auto back = decode(encode(entry));
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(back->cubin, "");
    EXPECT_EQ(back->ptx, std::nullopt);
}

TEST(KernelEntry, HasAHeaderLineOfJson) {
    const std::string file = encode(sample_entry());
    const auto header = nlohmann::json::parse(file.substr(0, file.find('\n')), nullptr, false);
    ASSERT_TRUE(header.is_object());
    EXPECT_EQ(header["cudnn_tune_kernel"], 1);
    EXPECT_EQ(header["key"], to_hex(sample_key("source").digest));
    EXPECT_EQ(header["nvrtc"]["build"], "65be");
    EXPECT_EQ(header["compile_us"], 812345);
    EXPECT_EQ(header["sections"][0]["bytes"], 500);
}

TEST(KernelEntry, SurvivesTextThatIsNotUtf8) {
    KernelEntry entry = sample_entry();
    entry.program_name = "k\xff.cu";
    entry.options = {"-D\xc3("};
    const auto back = decode(encode(entry));
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(back->key, entry.key);
    EXPECT_EQ(back->cubin, entry.cubin);
}

TEST(KernelEntry, RefusesEveryDamage) {
    const std::string file = encode(sample_entry("source", 40));
    ASSERT_TRUE(decode(file).ok());
    for (std::size_t i = 0; i < file.size(); ++i) {
        EXPECT_EQ(category_of(file.substr(0, i)), ErrorCategory::corrupt) << i;
        for (int bit = 0; bit < 8; ++bit) {
            std::string changed = file;
            changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
            // Hexadecimal digits of the checksum may be of either case.
            if (bit != 5 || i < file.find("checksum") || i > file.find('\n')) {
                EXPECT_EQ(category_of(changed), ErrorCategory::corrupt) << i << " bit " << bit;
            }
        }
    }
    EXPECT_EQ(category_of(file + "x"), ErrorCategory::corrupt);
    EXPECT_EQ(category_of(""), ErrorCategory::corrupt);
    EXPECT_EQ(category_of(std::string(3 << 20, 'x')), ErrorCategory::corrupt);
}

// Right checksums over wrong headers: a program that went wrong, or somebody who means harm.
TEST(KernelEntry, RefusesHeadersThatDoNotFit) {
    const std::string file = encode(sample_entry("source", 40));
    const std::string header = file.substr(0, file.find(",\"checksum\""));
    const std::string payload = file.substr(file.find('\n') + 1);
    ASSERT_TRUE(decode(with_checksum(header, payload)).ok());
    const auto replaced = [&](const std::string& from, const std::string& to) {
        std::string changed = header;
        EXPECT_THAT(header, HasSubstr(from));
        changed.replace(changed.find(from), from.size(), to);
        return with_checksum(changed, payload);
    };
    EXPECT_EQ(category_of(replaced("\"cudnn_tune_kernel\":1", "\"cudnn_tune_kernel\":2")),
              ErrorCategory::newer_version);
    for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
             {"\"cudnn_tune_kernel\":1", "\"cudnn_tune_kernel\":0"},
             {"\"cudnn_tune_kernel\":1", "\"cudnn_tune_kernel\":\"1\""},
             {"\"cudnn_tune_kernel\":1", "\"other\":1"},
             {"\"bytes\":40", "\"bytes\":41"},
             {"\"bytes\":40", "\"bytes\":39"},
             {"\"bytes\":40", "\"bytes\":-40"},
             {"\"bytes\":40", "\"bytes\":18446744073709551615"},
             {"\"bytes\":40", "\"bytes\":1e99"},
             {"\"key\":\"", "\"key\":\"x"},
             {"\"lengths\":{", "\"lengths\":[{"},
             {"\"source\":6", "\"source\":null"},
             {"\"sections\":[", "\"sections\":{"},
             {"\"kind\":\"cubin\"", "\"kind\":\"lowered\""},  // no zero byte where the name should end
             {"{", "["},
         }) {
        EXPECT_EQ(category_of(replaced(from, to)), ErrorCategory::corrupt) << to;
    }
    EXPECT_EQ(category_of(with_checksum(std::string(200000, '['), "")), ErrorCategory::corrupt);
    EXPECT_EQ(category_of(with_checksum("", "")), ErrorCategory::corrupt);
}

TEST(KernelEntry, LeavesOutSectionsThatItDoesNotKnow) {
    const std::string file = encode(sample_entry("source", 40));
    std::string header = file.substr(0, file.find(",\"checksum\""));
    const std::string payload = file.substr(file.find('\n') + 1);
    header.insert(header.find("[{\"kind\"") + 1, R"({"kind":"later","bytes":5},)");
    const auto entry = decode(with_checksum(header, "xxxxx" + payload));
    ASSERT_TRUE(entry.ok());
    EXPECT_EQ(entry->cubin, sample_entry("source", 40).cubin);
}

}  // namespace
}  // namespace cudnn_tune::compile
