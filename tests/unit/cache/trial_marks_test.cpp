// SPDX-License-Identifier: Apache-2.0
// Marks of trials, written and judged by processes that live, die and are killed.
#include "cache/trial_marks.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "../../storage/faulty_file_system.hpp"
#include "../../storage/temporary_directory.hpp"

namespace cudnn_tune::cache {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const Digest k_digest{1, 2};
const Choice k_choice = LegacyChoice{6, 0};
const Choice k_other = GraphChoice{38, {{2, 1}}};

class Marks : public ::testing::Test {
  protected:
    // A process that tries candidates; `body` ends it.
    template <typename Body>
    void in_a_process(Body body) {
        const pid_t child = ::fork();
        if (child == 0) {
            TrialMarks marks(posix_file_system(), system_clock(), path());
            body(marks);
            ::_exit(0);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
    }
    void die_of(const Choice& choice) {
        in_a_process([&](TrialMarks& marks) {
            ASSERT_TRUE(marks.begin(k_digest, k_choice));
            ASSERT_TRUE(marks.begin(k_digest, choice));
            ASSERT_EQ(::write(marks.descriptor(), "signal 11\n", 10), 10);
            ::_exit(1);
        });
    }
    int deaths(const Choice& choice) {
        TrialMarks marks(posix_file_system(), system_clock(), path());
        return marks.deaths(k_digest, choice);
    }
    [[nodiscard]] std::string path() const { return m_directory / "cache.jsonl"; }
    std::vector<TrialMark> listed() { return list_trial_marks(posix_file_system(), path()); }

    test::TemporaryDirectory m_directory;
};

TEST_F(Marks, CountTheDeathsOfACandidate) {
    EXPECT_EQ(deaths(k_other), 0);
    die_of(k_other);
    EXPECT_EQ(deaths(k_other), 1);
    die_of(k_other);
    EXPECT_EQ(deaths(k_other), 2);
    EXPECT_EQ(deaths(k_choice), 0) << "it had run before";
    TrialMarks marks(posix_file_system(), system_clock(), path());
    EXPECT_EQ(marks.deaths(Digest{1, 3}, k_other), 0);
    EXPECT_THAT(listed(), SizeIs(2));
    EXPECT_EQ(listed()[0].choice, "eng38_k2=1");
    EXPECT_EQ(listed()[0].ended, "signal 11");
    EXPECT_EQ(listed()[0].digest, k_digest);
}

TEST_F(Marks, OfAProcessThatWasKilledCountForNothingAndGo) {
    in_a_process([&](TrialMarks& marks) {
        ASSERT_TRUE(marks.begin(k_digest, k_choice));
        ::raise(SIGKILL);
    });
    EXPECT_THAT(listed(), ElementsAre(Field(&TrialMark::ended, "")));
    EXPECT_EQ(deaths(k_choice), 0);
    EXPECT_THAT(listed(), IsEmpty());
}

TEST_F(Marks, GoWithTheRunUnlessTheContextIsLeftInAnError) {
    in_a_process([&](TrialMarks& marks) {
        ASSERT_TRUE(marks.begin(k_digest, k_choice));
        marks.end();
    });
    EXPECT_THAT(listed(), IsEmpty());
    in_a_process([&](TrialMarks& marks) {
        ASSERT_TRUE(marks.begin(k_digest, k_choice));
        marks.left_sticky_error(700);
        marks.end();
    });
    EXPECT_THAT(listed(), ElementsAre(Field(&TrialMark::ended, "sticky 700")));
    EXPECT_EQ(deaths(k_choice), 1);
}

TEST_F(Marks, GoWhenTheCandidateRuns) {
    die_of(k_choice);
    TrialMarks marks(posix_file_system(), system_clock(), path());
    EXPECT_EQ(marks.deaths(k_digest, k_choice), 1);
    marks.survived(k_digest, k_choice);
    EXPECT_EQ(marks.deaths(k_digest, k_choice), 0);
    EXPECT_THAT(listed(), IsEmpty());
}

TEST_F(Marks, OfARunningProcessAreLeftAlone) {
    int begun[2];
    int over[2];
    ASSERT_EQ(::pipe(begun) + ::pipe(over), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        TrialMarks marks(posix_file_system(), system_clock(), path());
        (void)marks.begin(k_digest, k_choice);
        char byte = 0;
        (void)!::write(begun[1], &byte, 1);
        (void)!::read(over[0], &byte, 1);
        ::_exit(0);
    }
    char byte = 0;
    ASSERT_EQ(::read(begun[0], &byte, 1), 1);
    EXPECT_EQ(deaths(k_choice), 0);
    EXPECT_THAT(listed(), ElementsAre(Field(&TrialMark::running, true)));
    EXPECT_EQ(*clear_trial_marks(posix_file_system(), path()), 0);
    EXPECT_THAT(listed(), SizeIs(1));
    ASSERT_EQ(::write(over[1], &byte, 1), 1);
    ::waitpid(child, nullptr, 0);
    EXPECT_EQ(*clear_trial_marks(posix_file_system(), path()), 1);
    EXPECT_THAT(listed(), IsEmpty());
}

TEST_F(Marks, CanBeClearedByAPerson) {
    die_of(k_choice);
    die_of(k_other);
    EXPECT_EQ(*clear_trial_marks(posix_file_system(), path()), 2);
    EXPECT_EQ(deaths(k_choice) + deaths(k_other), 0);
    EXPECT_EQ(*clear_trial_marks(posix_file_system(), path()), 0);
}

TEST_F(Marks, ThatAreDamagedOrStrangeCountForNothing) {
    const auto put = [&](const std::string& name, const std::string& text) {
        std::ofstream(path() + ".trial-" + name, std::ios::binary) << text;
    };
    const std::string digest = to_hex(k_digest);
    put("empty", "");
    put("other", "my notes\n");
    put("torn", "cudnn-tune trial 1 pid=1 boot=? host=a\ntry " + digest + " algo6_math0\nsignal 1");
    put("short", "cudnn-tune trial 1 pid=1 boot=? host=a\ntry " + digest + "\nsignal 11\n");
    put("hex", "cudnn-tune trial 1 pid=1 boot=? host=a\ntry zz algo6_math0\nsignal 11\n");
    put("early", "cudnn-tune trial 1 pid=1 boot=? host=a\nsignal 11\ntry " + digest + " algo6_math0\n");
    std::filesystem::create_directory(path() + ".trial-directory");
    EXPECT_EQ(deaths(k_choice), 0);
}

TEST_F(Marks, AreDoneWithoutWhereAFileOrALockIsRefused) {
    for (const test::Call call : {test::Call::open, test::Call::lock, test::Call::write}) {
        test::FaultyFileSystem files;
        files.refuse(call, ENOLCK);
        TrialMarks marks(files, system_clock(), path());
        EXPECT_FALSE(marks.begin(k_digest, k_choice));
        EXPECT_EQ(marks.descriptor(), -1);
        const auto asked = files.count(call);
        EXPECT_FALSE(marks.begin(k_digest, k_choice));
        EXPECT_EQ(files.count(call), asked) << "tried once";
        EXPECT_THAT(listed(), IsEmpty());
    }
}

}  // namespace
}  // namespace cudnn_tune::cache
