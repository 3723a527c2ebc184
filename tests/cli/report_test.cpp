// SPDX-License-Identifier: Apache-2.0
// The page of `report` as a file; tests/report looks at it in a browser.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "cli/report_page.hpp"
#include "tool_runner.hpp"
#include "util/digest.hpp"

namespace cudnn_tune {
namespace {

using nlohmann::json;
using testing::describe;
using testing::Folder;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::read_text;
using testing::run_tool;
using testing::sample_record;
using ::testing::StartsWith;
using testing::write_cache;
using testing::write_text;

// What the page's script reads.
json data_of(const std::string& page) {
    const std::string start = R"(<script type="application/json" id="data">)";
    const std::size_t from = page.find(start) + start.size();
    return json::parse(page.substr(from, page.find("</script>", from) - from));
}

std::size_t count_of(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        count += 1;
    }
    return count;
}

class Report : public ::testing::Test {
  protected:
    std::string page_of(const std::vector<cache::Record>& records, const std::vector<std::string>& options = {}) {
        write_cache(m_folder.path("c"), records);
        std::vector<std::string> arguments = {"report", m_folder.path("c"), "-o", m_folder.path("page.html")};
        arguments.insert(arguments.end(), options.begin(), options.end());
        const auto result = run_tool(arguments);
        EXPECT_EQ(result.exit_code, 0) << describe(result);
        EXPECT_EQ(result.out + result.err, "");
        return read_text(m_folder.path("page.html"));
    }
    Folder m_folder;
};

TEST_F(Report, HoldsEveryEntryWithItsCandidates) {
    const json data = data_of(page_of({sample_record()}));
    EXPECT_EQ(data["file"], m_folder.path("c"));
    EXPECT_EQ(data["total"], 1);
    EXPECT_EQ(data["damaged"], 0);
    EXPECT_EQ(data["environments"], json({"NVIDIA H200, cuDNN 9.19.0, compute capability 9.0, 132 SMs"}));
    ASSERT_EQ(data["entries"].size(), 1u);
    json entry = data["entries"][0];
    EXPECT_EQ(
        entry["candidates"],
        json({{"algo6_math0", "WINOGRAD, default math", 80.0, 0.3, 9, 12 << 20, nullptr, ""},
              {"algo1_math0", "IMPLICIT_PRECOMP_GEMM, default math", 120.0, 0.5, 9, 0, nullptr, "not deterministic"},
              {"algo7_math0", "WINOGRAD_NONFUSED, default math", nullptr, nullptr, 0, std::int64_t{3} << 30, nullptr,
               "not run: it needs more workspace than may be used"},
              {"algo3_math0", "DIRECT, default math", nullptr, nullptr, 0, 0, nullptr,
               "not run: cuDNN says that it cannot be used (status 3000)"}}));
    entry.erase("candidates");
    EXPECT_EQ(entry, json({{"digest", to_hex(sample_record().key.digest())},
                           {"revision", 1},
                           {"status", "measured"},
                           {"label", "fwd f32 [32,64,56,56] * [64,64,3,3] nchw pad=1,1"},
                           {"direction", "fwd"},
                           {"dtype", "f32"},
                           {"problem", sample_record().key.problem},
                           {"api", sample_record().key.api},
                           {"environment", 0},
                           {"tuning_us", 12300.0},
                           {"when", "2026-11-29T12:00:00Z"},
                           {"by", "cudnn-tune 0.1.0"},
                           {"heuristic", 1}}));
}

TEST_F(Report, RefersToNothingOutsideItself) {
    const std::string page = page_of({sample_record()});
    for (const char* const part : {"src=", "href=", "@import", "url(", "fetch(", "<link"}) {
        EXPECT_THAT(page, Not(HasSubstr(part)));
    }
    EXPECT_EQ(count_of(page, "http"), count_of(page, "http-equiv") + count_of(page, "http://www.w3.org/2000/svg"));
}

TEST_F(Report, EscapesWhateverTheFileHolds) {
    auto hostile = sample_record();
    const std::string text = "</script><img src=x onerror=alert(1)><!--&lt;\"'\\\u2028";
    hostile.key.problem = hostile.key.api = hostile.by = hostile.when = text;
    hostile.key.environment = text;
    hostile.candidates[2].not_run = text;
    const std::string page = page_of({hostile});
    const std::string usual = page_of({sample_record()});
    EXPECT_EQ(count_of(page, "<"), count_of(usual, "<"));
    EXPECT_EQ(count_of(page, "</script>"), 2u);
    const json entry = data_of(page)["entries"][0];
    EXPECT_EQ(entry["problem"], text);
    EXPECT_EQ(entry["label"], text);
    EXPECT_EQ(entry["direction"], "?");
}

TEST_F(Report, EscapesTheNameOfTheFile) {
    const std::string path = m_folder.path("<b>&.jsonl");
    write_cache(path, {sample_record()});
    const auto result = run_tool({"report", path});
    EXPECT_THAT(result.out, HasSubstr("<title>cudnn-tune report: &lt;b&gt;&amp;.jsonl</title>"));
    EXPECT_EQ(data_of(result.out)["file"], path);
}

TEST_F(Report, RunsNoScriptWithoutItsNonce) {
    const auto nonce_of = [](const std::string& page) {
        const std::size_t at = page.find("script-src 'nonce-") + 18;
        return page.substr(at, page.find('\'', at) - at);
    };
    const std::string page = page_of({sample_record()});
    EXPECT_EQ(nonce_of(page).size(), 32u);
    EXPECT_EQ(count_of(page, "<script"), 2u);
    EXPECT_EQ(count_of(page, "<script nonce=\"" + nonce_of(page) + "\">"), 1u);
    EXPECT_NE(nonce_of(page_of({sample_record()})), nonce_of(page));
}

TEST_F(Report, KeepsTheSlowestIfThereAreTooMany) {
    std::vector<cache::Record> records;
    for (const int batch : {1, 2, 3, 4, 5}) {
        records.push_back(sample_record(batch));
        records.back().candidates[0].time_ns = batch == 3 ? 10'000 : 50'000 + batch;
    }
    records[4].status = cache::RecordStatus::wanted;
    records[4].candidates.clear();
    records[4].heuristic = -1;
    const json data = data_of(page_of(records, {"--most", "3"}));
    EXPECT_EQ(data["total"], 5);
    ASSERT_EQ(data["entries"].size(), 3u);
    EXPECT_EQ(data["entries"][0]["digest"], to_hex(records[0].key.digest()));
    EXPECT_EQ(data["entries"][2]["digest"], to_hex(records[3].key.digest()));
}

TEST_F(Report, GoesToStandardOutputWithoutAName) {
    write_cache(m_folder.path("c"), {sample_record()});
    const auto result = run_tool({"report", m_folder.path("c")});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(data_of(result.out)["entries"].size(), 1u);
}

TEST_F(Report, SaysHowManyLinesAreDamaged) {
    write_cache(m_folder.path("c"), {sample_record()});
    write_text(m_folder.path("c"), read_text(m_folder.path("c")) + "garbage\n");
    const auto result = run_tool({"report", m_folder.path("c")});
    EXPECT_EQ(data_of(result.out)["damaged"], 1);
    EXPECT_EQ(result.err, "cudnn-tune: warning: " + m_folder.path("c") +
                              ": 1 line is damaged and was left out; cudnn-tune verify names them\n");
}

TEST_F(Report, AcceptsAFileWithoutEntries) { EXPECT_EQ(data_of(page_of({}))["entries"], json::array()); }

TEST_F(Report, ReplacesAnEarlierReportAtOnce) {
    write_text(m_folder.path("page.html"), "earlier");
    std::filesystem::create_hard_link(m_folder.path("page.html"), m_folder.path("seen"));
    EXPECT_THAT(page_of({sample_record()}), StartsWith("<!doctype html>"));
    EXPECT_EQ(read_text(m_folder.path("seen")), "earlier");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(m_folder.path()), {}), 3);
}

TEST_F(Report, RefusesBadInputAndWritesNothing) {
    write_cache(m_folder.path("c"), {sample_record()});
    write_text(m_folder.path("text"), "hello\n");
    const std::string good = m_folder.path("c");
    const std::string before = read_text(good);
    const std::vector<std::pair<std::vector<std::string>, int>> cases = {
        {{}, 2},
        {{good, good}, 2},
        {{good, "-o"}, 2},
        {{good, "-o", good}, 2},
        {{good, "--most", "0"}, 2},
        {{good, "--most", "few"}, 2},
        {{m_folder.path("none"), "-o", m_folder.path("page.html")}, 1},
        {{m_folder.path(), "-o", m_folder.path("page.html")}, 1},
        {{m_folder.path("text"), "-o", m_folder.path("page.html")}, 1},
        {{good, "-o", m_folder.path()}, 1},
        {{good, "-o", m_folder.path("none/page.html")}, 1},
        {{good, "-o", "/dev/null"}, 1},
    };
    for (const auto& [arguments, exit_code] : cases) {
        std::vector<std::string> words = {"report"};
        words.insert(words.end(), arguments.begin(), arguments.end());
        const auto result = run_tool(words);
        EXPECT_EQ(result.exit_code, exit_code) << describe(result);
        EXPECT_EQ(result.out, "");
        EXPECT_THAT(result.err, StartsWith("cudnn-tune: error: "));
        EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    }
    EXPECT_EQ(read_text(good), before);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(m_folder.path()), {}), 2);
}

TEST(ProblemLabel, NamesWhatIsUnusual) {
    EXPECT_EQ(
        cli::problem_label("bwd_filter x=f16[8,64,57,57]:nhwc w=f16[64,2,3,3]:nhwc y=f16[8,64,28,28]:nhwc pad=0,0 "
                           "stride=2,2 dil=1,1 groups=32 mode=xcorr compute=f32"),
        "bwd_filter f16 [8,64,57,57] * [64,2,3,3] nhwc stride=2,2 groups=32");
    EXPECT_EQ(cli::problem_label("no problem"), "no problem");
}

}  // namespace
}  // namespace cudnn_tune
