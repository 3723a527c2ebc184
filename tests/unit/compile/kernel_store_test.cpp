// SPDX-License-Identifier: Apache-2.0
#include "compile/kernel_store.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <utime.h>

#include "../../storage/faulty_file_system.hpp"
#include "../../storage/temporary_directory.hpp"
#include "kernel_samples.hpp"

namespace cudnn_tune::compile {
namespace {

using test::Call;
using test::FaultyFileSystem;

constexpr std::int64_t k_day_s = 24 * 3600;

class KernelStoreTest : public ::testing::Test {
  protected:
    [[nodiscard]] KernelStore store(StoreOptions options = {}) { return {files, system_clock(), path, options}; }
    [[nodiscard]] std::string file_of(const std::string& source) const {
        return path + "/" + KernelStore::file_name(sample_key(source));
    }
    static void set_age(const std::string& file, std::int64_t age_s) {
        const std::time_t then = std::time(nullptr) - age_s;
        const utimbuf times{then, then};
        ASSERT_EQ(::utime(file.c_str(), &times), 0);
    }
    [[nodiscard]] std::vector<std::string> names() const {
        std::vector<std::string> found;
        std::error_code none;
        for (const auto& entry : std::filesystem::directory_iterator(path, none)) {
            found.push_back(entry.path().filename());
        }
        return found;
    }
    ErrorCategory load_error(StoreOptions options = {}) {
        const auto entry = store(options).load(sample_key("source"));
        EXPECT_FALSE(entry.ok());
        return entry.ok() ? ErrorCategory::gpu : entry.error().category;
    }

    test::TemporaryDirectory directory;
    std::string path = directory / "cache.kernels";
    FaultyFileSystem files;
};

TEST_F(KernelStoreTest, GivesBackWhatWasSaved) {
    ASSERT_TRUE(store().save(sample_entry()).ok());
    const auto entry = store().load(sample_key("source"));
    ASSERT_TRUE(entry.ok()) << entry.error().message;
    EXPECT_EQ(entry->cubin, sample_entry().cubin);
    EXPECT_EQ(names().size(), 1U);
}

TEST_F(KernelStoreTest, TouchesNothingBeforeTheFirstSave) {
    KernelStore first = store();
    EXPECT_TRUE(files.calls.empty());
    EXPECT_EQ(load_error(), ErrorCategory::not_found);
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_EQ(first.trouble(), "");
}

TEST_F(KernelStoreTest, WritesNothingIfItMayNot) {
    StoreOptions options;
    options.writable = false;
    EXPECT_FALSE(store(options).save(sample_entry()).ok());
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(KernelStoreTest, MakesItsFilesUnwritableForOthersWhateverTheUmaskIs) {
    const mode_t old = ::umask(0);
    const bool saved = store().save(sample_entry()).ok();
    ::umask(old);
    ASSERT_TRUE(saved);
    EXPECT_TRUE(store().load(sample_key("source")).ok());
    struct ::stat info {};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0755U);
    ASSERT_EQ(::stat(file_of("source").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0644U);
}

TEST_F(KernelStoreTest, KeepsAStricterUmask) {
    const mode_t old = ::umask(077);
    const bool saved = store().save(sample_entry()).ok();
    ::umask(old);
    ASSERT_TRUE(saved);
    struct ::stat info {};
    ASSERT_EQ(::stat(file_of("source").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600U);
}

TEST(TrustRule, TrustsThisUserAndRootOnly) {
    const TrustRule rule;
    FileInfo info;
    info.mode = 0644;
    for (const std::uint32_t user : {0U, 1000U}) {
        for (const std::uint32_t owner : {0U, 1000U, 1001U, 65534U}) {
            info.owner = owner;
            EXPECT_EQ(rule.distrust(info, user).empty(), owner == user || owner == 0) << owner << " for " << user;
        }
    }
}

TEST(TrustRule, WantsNobodyElseToWrite) {
    const TrustRule rule;
    FileInfo info;
    info.owner = 1000;
    for (std::uint32_t mode = 0; mode <= 0777; ++mode) {
        info.mode = mode;
        EXPECT_EQ(rule.distrust(info, 1000).empty(), (mode & 0022) == 0) << mode;
    }
}

TEST(TrustRule, TakesATrustedGroupForTheUser) {
    const TrustRule rule{.group = 500};
    FileInfo info;
    info.owner = 1001;
    info.group = 500;
    info.mode = 0664;
    EXPECT_EQ(rule.distrust(info, 1000), "");
    info.mode = 0666;
    EXPECT_NE(rule.distrust(info, 1000), "");
    info.mode = 0664;
    info.group = 501;
    EXPECT_NE(rule.distrust(info, 1000), "");
    info.owner = 1000;
    EXPECT_NE(rule.distrust(info, 1000), "");  // writable by another group
}

TEST_F(KernelStoreTest, UsesNothingOfAnotherOwner) {
    ASSERT_TRUE(store().save(sample_entry()).ok());
    files.user = 12345;
    files.change_info = [](FileInfo& info) { info.owner = 12346; };
    EXPECT_EQ(load_error(), ErrorCategory::invalid);
    EXPECT_THAT(store().trouble(), ::testing::HasSubstr("belongs to another user"));
    EXPECT_FALSE(store().save(sample_entry()).ok());
    files.change_info = [](FileInfo& info) { info.owner = 12345; };
    EXPECT_TRUE(store().load(sample_key("source")).ok());
    files.change_info = [](FileInfo& info) { info.owner = 0; };
    EXPECT_TRUE(store().load(sample_key("source")).ok());
    files.change_info = [](FileInfo& info) { info.owner = info.kind == FileKind::directory ? 12345 : 12346; };
    EXPECT_EQ(load_error(), ErrorCategory::invalid);
}

TEST_F(KernelStoreTest, ReplacesAFile) {
    ASSERT_TRUE(store().save(sample_entry()).ok());
    KernelEntry more = sample_entry();
    more.ptx = "ptx";
    ASSERT_TRUE(store().save(more).ok());
    EXPECT_EQ(store().load(sample_key("source"))->ptx, "ptx");
    EXPECT_EQ(names().size(), 1U);
}

TEST_F(KernelStoreTest, ReadsAndWritesInSmallPieces) {
    files.most_written_bytes = 7;
    files.most_read_bytes = 5;
    ASSERT_TRUE(store().save(sample_entry()).ok());
    EXPECT_TRUE(store().load(sample_key("source")).ok());
}

TEST_F(KernelStoreTest, LeavesNoTraceOfAFailedSave) {
    ASSERT_TRUE(store().save(sample_entry("old")).ok());
    const std::vector<std::string> before = names();
    for (const Call call : {Call::open, Call::fstat, Call::write, Call::fsync, Call::close, Call::rename, Call::stat}) {
        for (const int error : {EIO, ENOSPC, EACCES, EROFS, EDQUOT}) {
            files.refuse(call, error);
            EXPECT_FALSE(store().save(sample_entry()).ok()) << static_cast<int>(call);
            files.before = nullptr;
            EXPECT_EQ(names(), before) << static_cast<int>(call);
        }
    }
    EXPECT_TRUE(store().save(sample_entry()).ok());
}

TEST_F(KernelStoreTest, KeepsTheOldFileIfTheNewOneCannotBeWritten) {
    ASSERT_TRUE(store().save(sample_entry()).ok());
    files.refuse(Call::write, ENOSPC);
    EXPECT_FALSE(store().save(sample_entry()).ok());
    EXPECT_TRUE(store().load(sample_key("source")).ok());
}

TEST_F(KernelStoreTest, DoesWithoutFsyncWhereThereIsNone) {
    for (const int error : {EINVAL, EOPNOTSUPP, ENOSYS}) {
        files.refuse(Call::fsync, error);
        EXPECT_TRUE(store().save(sample_entry()).ok());
        files.refuse(Call::fsync_directory, error);
        EXPECT_TRUE(store().save(sample_entry()).ok());
    }
}

TEST_F(KernelStoreTest, FlushesTheFileBeforeItGetsItsNameAndTheDirectoryAfterwards) {
    ASSERT_TRUE(store().save(sample_entry()).ok());
    const auto at = [&](Call call) { return std::find(files.calls.begin(), files.calls.end(), call); };
    EXPECT_LT(at(Call::write), at(Call::fsync));
    EXPECT_LT(at(Call::fsync), at(Call::rename));
    EXPECT_LT(at(Call::rename), at(Call::fsync_directory));
    EXPECT_NE(at(Call::fsync_directory), files.calls.end());
}

TEST_F(KernelStoreTest, TakesAnotherNameIfATemporaryFileIsThere) {
    int refused = 0;
    files.before = [&](Call call, const std::string& name) {
        return call == Call::open && name.ends_with(".tmp") && refused++ < 3 ? EEXIST : 0;
    };
    EXPECT_TRUE(store().save(sample_entry()).ok());
    EXPECT_EQ(refused, 4);
}

TEST_F(KernelStoreTest, StopsTryingAfterAFewFailures) {
    KernelStore full = store();
    files.refuse(Call::write, ENOSPC);
    for (int i = 0; i < 20; ++i) {
        EXPECT_FALSE(full.save(sample_entry()).ok());
    }
    EXPECT_EQ(files.count(Call::write), 4);
}

TEST_F(KernelStoreTest, GoesOnTryingAfterASuccess) {
    KernelStore shaky = store();
    for (int i = 0; i < 20; ++i) {
        files.before = [&](Call call, const std::string&) { return call == Call::write && i % 3 != 0 ? EIO : 0; };
        EXPECT_EQ(shaky.save(sample_entry()).ok(), i % 3 == 0) << i;
    }
}

TEST_F(KernelStoreTest, TreatsFailedReadsAsMisses) {
    ASSERT_TRUE(store().save(sample_entry()).ok());
    for (const Call call : {Call::stat, Call::open, Call::fstat, Call::pread}) {
        files.refuse(call, EIO);
        EXPECT_EQ(load_error(), ErrorCategory::io) << static_cast<int>(call);
    }
    files.refuse(Call::close, EIO);
    EXPECT_TRUE(store().load(sample_key("source")).ok());
}

TEST_F(KernelStoreTest, RefusesAFileThatChangesItsSizeWhileItIsRead) {
    ASSERT_TRUE(store().save(sample_entry()).ok());
    files.change_info = [](FileInfo& info) { info.size_bytes += info.kind == FileKind::regular ? -10 : 0; };
    EXPECT_EQ(load_error(), ErrorCategory::corrupt);
    files.change_info = [](FileInfo& info) { info.size_bytes = std::int64_t{1} << 40; };
    EXPECT_EQ(load_error(), ErrorCategory::corrupt);
}

TEST_F(KernelStoreTest, ComparesLengthsBesidesTheDigest) {
    ASSERT_TRUE(store().save(sample_entry()).ok());
    ProgramKey key = sample_key("source");
    key.lengths.source += 1;
    EXPECT_FALSE(store().load(key).ok());
}

TEST_F(KernelStoreTest, RemovesTheLeastRecentlyUsedBeyondItsLimit) {
    StoreOptions options;
    for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(store().save(sample_entry(std::to_string(i), 10000)).ok());
        set_age(file_of(std::to_string(i)), 1000 - i);
    }
    const auto one_file = static_cast<std::int64_t>(std::filesystem::file_size(file_of("0")));
    options.limit_bytes = 8 * one_file;
    KernelStore bounded = store(options);
    ASSERT_TRUE(bounded.save(sample_entry("new", 10000)).ok());
    std::int64_t left = 0;
    for (const std::string& name : names()) {
        left += static_cast<std::int64_t>(std::filesystem::file_size(path + "/" + name));
    }
    EXPECT_LE(left, options.limit_bytes);
    EXPECT_FALSE(std::filesystem::exists(file_of("0")));
    EXPECT_FALSE(std::filesystem::exists(file_of("3")));
    EXPECT_TRUE(std::filesystem::exists(file_of("4")));
    EXPECT_TRUE(std::filesystem::exists(file_of("9")));
    EXPECT_TRUE(std::filesystem::exists(file_of("new")));
}

TEST_F(KernelStoreTest, StaysWithinItsLimit) {
    StoreOptions options;
    options.limit_bytes = 50000;
    KernelStore bounded = store(options);
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(bounded.save(sample_entry(std::to_string(i), 3000)).ok());
        std::int64_t held = 0;
        for (const std::string& name : names()) {
            held += static_cast<std::int64_t>(std::filesystem::file_size(path + "/" + name));
        }
        ASSERT_LE(held, options.limit_bytes);
    }
    EXPECT_FALSE(bounded.save(sample_entry("large", 60000)).ok());
}

TEST_F(KernelStoreTest, RemovesOnlyFilesOfItsOwn) {
    ASSERT_TRUE(store().save(sample_entry()).ok());
    const std::string own = KernelStore::file_name(sample_key("source"));
    for (const std::string& name :
         {std::string("notes.txt"), std::string("x.kernel"), own + ".bak", "." + own, std::string(".hidden.tmp")}) {
        test::write_file(path + "/" + name, std::string(1000, 'x'));
        set_age(path + "/" + name, 100 * k_day_s);
    }
    const auto report = store().prune(0);
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(report->removed_files, 1);
    EXPECT_EQ(report->kept_bytes, 0);
    EXPECT_EQ(names().size(), 5U);
}

TEST_F(KernelStoreTest, RemovesTemporaryFilesOfDeadProcesses) {
    ASSERT_TRUE(store().save(sample_entry()).ok());
    const std::string start = path + "/." + KernelStore::file_name(sample_key("source"));
    test::write_file(start + ".0123456789abcdef.tmp", "left behind");
    test::write_file(start + ".fedcba9876543210.tmp", "being written");
    set_age(start + ".0123456789abcdef.tmp", 7200);
    ASSERT_TRUE(store().prune(std::int64_t{1} << 30).ok());
    EXPECT_FALSE(std::filesystem::exists(start + ".0123456789abcdef.tmp"));
    EXPECT_TRUE(std::filesystem::exists(start + ".fedcba9876543210.tmp"));
    EXPECT_TRUE(std::filesystem::exists(file_of("source")));
}

TEST_F(KernelStoreTest, MarksUseToTheDay) {
    FileSystem& real = posix_file_system();
    KernelStore used(real, system_clock(), path, {});
    const auto modified_s = [&] { return real.stat(file_of("source"))->modified_ns / 1'000'000'000; };
    ASSERT_TRUE(used.save(sample_entry()).ok());
    const std::int64_t now_s = std::time(nullptr);
    set_age(file_of("source"), 3600);
    ASSERT_TRUE(used.load(sample_key("source")).ok());
    EXPECT_LT(modified_s(), now_s - 3000);
    set_age(file_of("source"), 2 * k_day_s);
    ASSERT_TRUE(used.load(sample_key("source")).ok());
    EXPECT_GE(modified_s(), now_s - 10);

    StoreOptions read_only;
    read_only.writable = false;
    set_age(file_of("source"), 2 * k_day_s);
    ASSERT_TRUE(KernelStore(real, system_clock(), path, read_only).load(sample_key("source")).ok());
    EXPECT_LT(modified_s(), now_s - k_day_s);
}

TEST_F(KernelStoreTest, ListsItsFiles) {
    EXPECT_EQ(store().list().error_number(), ENOENT);
    ASSERT_TRUE(store().save(sample_entry("a")).ok());
    ASSERT_TRUE(store().save(sample_entry("b")).ok());
    test::write_file(path + "/notes.txt", "x");
    const auto found = store().list();
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found->size(), 2U);
    EXPECT_GT(found->at(0).size_bytes, 500);
    EXPECT_TRUE(store().read(found->at(0).name).ok());
}

}  // namespace
}  // namespace cudnn_tune::compile
