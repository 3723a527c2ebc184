// SPDX-License-Identifier: Apache-2.0
// What is on disk after a power cut: bytes that were not synced are gone, and a rename whose directory was not synced
// may have happened or not. Appends are not synced (FORMAT.md, "Promise"), so the last lines may be lost; a compaction
// may lose nothing.
#include <gmock/gmock.h>

#include <map>

#include "cache/cache_table.hpp"
#include "cache/compaction.hpp"
#include "faulty_file_system.hpp"
#include "sample_records.hpp"
#include "temporary_directory.hpp"

namespace cudnn_tune::cache {
namespace {

using test::Call;
using test::FaultyFileSystem;
using test::sample_key;
using test::sample_record;

// Remembers what is durable, and can take the rest away.
class Disk final : public FileSystem {
  public:
    explicit Disk(const std::string& spare_directory) : m_spare(spare_directory) {}

    // From the n-th call on nothing happens any more.
    std::size_t last_call = std::numeric_limits<std::size_t>::max();
    std::size_t calls = 0;

    enum class Renames { survive, are_undone };
    void lose_what_was_not_synced(Renames renames) {
        for (const auto& [inode, durable] : m_durable) {
            ::truncate(durable.link.c_str(), durable.size_bytes);
        }
        for (auto pending = m_renames.rbegin(); pending != m_renames.rend() && renames == Renames::are_undone;
             ++pending) {
            std::filesystem::rename(pending->backup, pending->to);
        }
    }

    IoResult<int> open(const std::string& path, OpenMode mode) override {
        if (is_off()) {
            return IoResult<int>::failure(EIO);
        }
        auto descriptor = m_real.open(path, mode);
        if (descriptor.ok() && mode != OpenMode::read && mode != OpenMode::lock_file) {
            const FileInfo info = *m_real.fstat(*descriptor);
            if (!m_durable.contains(info.inode)) {
                m_durable[info.inode] = {keep(path), info.size_bytes};
            }
        }
        return descriptor;
    }
    IoStatus close(int descriptor) override { return m_real.close(descriptor); }
    IoResult<std::size_t> pread(int descriptor, std::span<char> buffer, std::int64_t offset) override {
        return is_off() ? IoResult<std::size_t>::failure(EIO) : m_real.pread(descriptor, buffer, offset);
    }
    IoResult<std::size_t> write(int descriptor, std::string_view bytes) override {
        return is_off() ? IoResult<std::size_t>::failure(EIO) : m_real.write(descriptor, bytes);
    }
    IoStatus fsync(int descriptor) override {
        if (is_off()) {
            return IoStatus::failure(EIO);
        }
        const FileInfo info = *m_real.fstat(descriptor);
        m_durable[info.inode].size_bytes = info.size_bytes;
        return io_ok();
    }
    IoStatus fsync_directory(const std::string&) override {
        if (is_off()) {
            return IoStatus::failure(EIO);
        }
        m_renames.clear();
        return io_ok();
    }
    IoResult<FileInfo> fstat(int descriptor) override {
        return is_off() ? IoResult<FileInfo>::failure(EIO) : m_real.fstat(descriptor);
    }
    IoResult<FileInfo> stat(const std::string& path) override {
        return is_off() ? IoResult<FileInfo>::failure(EIO) : m_real.stat(path);
    }
    IoStatus try_lock_range(int descriptor, std::int64_t offset, std::int64_t length) override {
        return is_off() ? IoStatus::failure(EIO) : m_real.try_lock_range(descriptor, offset, length);
    }
    IoStatus unlock_range(int descriptor, std::int64_t offset, std::int64_t length) override {
        return m_real.unlock_range(descriptor, offset, length);
    }
    IoStatus rename(const std::string& from, const std::string& to) override {
        if (is_off()) {
            return IoStatus::failure(EIO);
        }
        if (std::filesystem::exists(to)) {
            m_renames.push_back({to, keep(to)});
        }
        return m_real.rename(from, to);
    }
    IoStatus unlink(const std::string& path) override {
        return is_off() ? IoStatus::failure(EIO) : m_real.unlink(path);
    }
    IoStatus mkdir(const std::string& path) override { return m_real.mkdir(path); }
    IoStatus set_mode(int descriptor, std::uint32_t mode) override { return m_real.set_mode(descriptor, mode); }
    IoResult<std::vector<std::string>> list_directory(const std::string& path) override {
        return m_real.list_directory(path);
    }
    IoResult<std::string> real_path(const std::string& path) override { return m_real.real_path(path); }
    IoResult<std::string> read_link(const std::string& path) override { return m_real.read_link(path); }
    IoResult<FileSystemKind> file_system_kind(const std::string&) override { return FileSystemKind::local; }
    IoStatus check_writable(const std::string& path) override { return m_real.check_writable(path); }
    std::uint32_t effective_user() override { return m_real.effective_user(); }

  private:
    struct Durable {
        std::string link;
        std::int64_t size_bytes = 0;
    };
    struct Rename {
        std::string to;
        std::string backup;
    };

    bool is_off() { return calls++ >= last_call; }
    // Another name, by which the file can be found whatever becomes of this one.
    std::string keep(const std::string& path) {
        std::string link = m_spare + "/" + std::to_string(++m_kept);
        std::filesystem::create_hard_link(path, link);
        return link;
    }

    FileSystem& m_real = posix_file_system();
    std::string m_spare;
    int m_kept = 0;
    std::map<std::uint64_t, Durable> m_durable;
    std::vector<Rename> m_renames;
};

class PowerCut : public testing::Test {
  protected:
    void prepare() {
        std::filesystem::remove_all(m_spare);
        std::filesystem::remove_all(m_path + ".d");
        std::filesystem::create_directory(m_spare);
        std::filesystem::create_directory(m_path + ".d");
        const std::string header = std::string(k_header_line) + "\n";
        test::write_file(m_path, header + *encode_record(sample_record(1, "old")) + "\n" +
                                     *encode_record(sample_record(1, "new", 2)) + "\n" +
                                     *encode_record(sample_record(2)) + "\ndamage\n");
        test::write_file(m_path + ".d/host-1-00.jsonl", header + *encode_record(sample_record(3)) + "\n");
    }
    std::unique_ptr<Cache> open(FileSystem& files = posix_file_system()) {
        CacheOptions options;
        options.path = m_path;
        options.files = &files;
        return std::move(*Cache::open(options));
    }
    static std::string author(Cache& cache, int key) {
        const auto record = cache.find(sample_key(key), sample_key(key).digest());
        return record != nullptr ? record->by : "";
    }

    test::TemporaryDirectory m_directory;
    std::string m_path = m_directory / "cache.jsonl";
    std::string m_spare = m_directory / "spare";
};

TEST_F(PowerCut, InACompactionLosesNothing) {
    CompactionOptions options;
    options.path = m_path;
    prepare();
    Disk whole(m_spare);
    options.files = &whole;
    ASSERT_TRUE(compact(options).ok());
    ASSERT_GT(whole.calls, 30U);
    for (std::size_t call = 0; call <= whole.calls; ++call) {
        for (const Disk::Renames renames : {Disk::Renames::survive, Disk::Renames::are_undone}) {
            SCOPED_TRACE("before call " + std::to_string(call));
            prepare();
            Disk disk(m_spare);
            disk.last_call = call;
            options.files = &disk;
            const bool done = compact(options).ok();
            disk.lose_what_was_not_synced(renames);
            const auto cache = open();
            EXPECT_EQ(author(*cache, 1), "new");
            EXPECT_NE(author(*cache, 2), "");
            EXPECT_NE(author(*cache, 3), "");
            EXPECT_TRUE(cache->publish(sample_record(4)).ok());
            EXPECT_EQ(done, call >= whole.calls - 1 || done);
        }
    }
}

TEST_F(PowerCut, InAnAppendLosesOnlyWhatWasAppended) {
    prepare();
    Disk disk(m_spare);
    {
        const auto cache = open(disk);
        ASSERT_TRUE(cache->publish(sample_record(4)).ok());
        ASSERT_TRUE(cache->publish(sample_record(5)).ok());
    }
    disk.lose_what_was_not_synced(Disk::Renames::survive);
    const auto cache = open();
    EXPECT_EQ(author(*cache, 1), "new");
    EXPECT_NE(author(*cache, 2), "");
    EXPECT_EQ(author(*cache, 4), "");
    EXPECT_TRUE(cache->publish(sample_record(4)).ok());
    EXPECT_EQ(author(*open(), 4), sample_record(4).by);
}

// A process that goes on across the loss (its file server lost power) notices, and stores anew.
TEST_F(PowerCut, IsNoticedByAProcessThatLivesOn) {
    prepare();
    Disk disk(m_spare);
    const auto cache = open(disk);
    ASSERT_TRUE(cache->publish(sample_record(4)).ok());
    disk.lose_what_was_not_synced(Disk::Renames::survive);
    cache->refresh();
    EXPECT_EQ(author(*cache, 4), "");
    EXPECT_TRUE(cache->publish(sample_record(4)).ok());
    EXPECT_EQ(author(*open(), 4), sample_record(4).by);
}

}  // namespace
}  // namespace cudnn_tune::cache
