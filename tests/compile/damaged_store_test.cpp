// SPDX-License-Identifier: Apache-2.0
// A store that is wrong in some way costs a compilation, never a wrong binary.
#include <sys/stat.h>

#include "../storage/faulty_file_system.hpp"
#include "compile_fixture.hpp"

namespace cudnn_tune::test {
namespace {

const Source k_plain{"extern \"C\" __global__ void k() {}"};

class DamagedStore : public CompileTest {
  protected:
    DamagedStore() {
        binary = cubin_of(nvrtc, k_plain);
        file = stored_files().at(0);
        bytes = contents_of(file);
    }
    // A process that finds the store as it is now gets the right binary, by this many compilations.
    void expect(int compiled, const std::string& what) {
        restart();
        const int before = compilations();
        EXPECT_EQ(cubin_of(nvrtc, k_plain), binary) << what;
        EXPECT_EQ(compilations() - before, compiled) << what;
    }
    std::string binary;
    std::string file;
    std::string bytes;
};

TEST_F(DamagedStore, CutAnywhereIsAMissThatIsMended) {
    for (std::size_t size = 0; size < bytes.size(); size += 1 + size / 3) {
        write_file(file, bytes.substr(0, size));
        expect(1, "cut to " + std::to_string(size));
        expect(0, "mended");
    }
}

TEST_F(DamagedStore, AnyFlippedBitIsAMiss) {
    for (std::size_t at = 0; at < bytes.size(); at += 11) {
        std::string changed = bytes;
        changed[at] = static_cast<char>(changed[at] ^ (1 << (at % 8)));
        write_file(file, changed);
        expect(1, "bit in byte " + std::to_string(at));
    }
}

TEST_F(DamagedStore, ForeignContentIsAMiss) {
    for (const std::string& foreign : {std::string(), std::string("\n"), std::string(5000, '\0'), bytes + "x",
                                       std::string(R"({"checksum":"00000000000000000000000000000000"})") + "\n",
                                       "\x7f"
                                       "ELF" +
                                           std::string(300, 'x'),
                                       std::string(2 << 20, '[')}) {
        write_file(file, foreign);
        expect(1, foreign.substr(0, 20));
    }
}

TEST_F(DamagedStore, AnotherProgramUnderThisNameIsAMiss) {
    (void)cubin_of(nvrtc, {"// another"});
    for (const std::string& other : stored_files()) {
        if (other != file) {
            std::filesystem::copy_file(other, file, std::filesystem::copy_options::overwrite_existing);
        }
    }
    expect(1, "renamed");
}

TEST_F(DamagedStore, ADirectoryOrALinkInThePlaceOfAFileIsAMiss) {
    std::filesystem::remove(file);
    std::filesystem::create_directory(file);
    expect(1, "a directory");
    std::filesystem::remove(file);
    write_file(directory / "elsewhere", bytes);
    std::filesystem::create_symlink(directory / "elsewhere", file);
    expect(1, "a symbolic link");
    EXPECT_FALSE(std::filesystem::is_symlink(file));  // replaced, not followed
    expect(0, "mended");
    std::filesystem::remove(file);
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
    expect(1, "a FIFO");
}

TEST_F(DamagedStore, OthersMayNotWriteWhatIsUsed) {
    ::chmod(file.c_str(), 0664);
    expect(1, "writable by the group");
    ::chmod(file.c_str(), 0646);
    expect(1, "writable by all");
    expect(0, "replaced by a trusted one");
    ::chmod(store_path().c_str(), 0775);
    expect(1, "in a directory writable by the group");
    ::chmod(store_path().c_str(), 0757);
    expect(1, "in a directory writable by all");
    ::chmod(store_path().c_str(), 0755);
    expect(0, "trusted again");
}

TEST_F(DamagedStore, AFileInThePlaceOfTheDirectoryIsLeftAlone) {
    std::filesystem::remove_all(store_path());
    write_file(store_path(), "mine");
    expect(1, "a file");
    EXPECT_EQ(contents_of(store_path()), "mine");
}

TEST_F(DamagedStore, VanishingInMidRunHarmsNothing) {
    restart();
    const int before = compilations();
    std::filesystem::remove_all(store_path());
    EXPECT_EQ(cubin_of(nvrtc, k_plain), binary);
    EXPECT_EQ(compilations(), before + 1);
    std::filesystem::remove_all(store_path());
    EXPECT_EQ(cubin_of(nvrtc, k_plain), binary);  // from memory
    EXPECT_EQ(compilations(), before + 1);
    EXPECT_FALSE(cubin_of(nvrtc, {"// new"}).empty());
    EXPECT_EQ(stored_files().size(), 1U);  // made again
}

TEST_F(DamagedStore, CorruptionInMidRunHarmsNothing) {
    restart();
    ClientProgram program(nvrtc, k_plain);
    ASSERT_EQ(program.compile(), abi::k_nvrtc_success);
    write_file(file, "damaged");
    EXPECT_EQ(program.cubin(), binary);
    expect(1, "damaged");
}

TEST_F(DamagedStore, AMissingFolderOfTheCacheIsNotMade) {
    settings.cache_path = directory / "missing/cache.jsonl";
    expect(1, "no folder");
    EXPECT_FALSE(std::filesystem::exists(directory / "missing"));
}

// Whatever goes wrong in any call to the file system, the client gets its binary.
TEST_F(DamagedStore, AnyFailingCallCostsAtMostACompilation) {
    for (const int error : {EIO, ENOSPC, EACCES, EROFS, ENOENT, EDQUOT, EMFILE, EINVAL}) {
        for (int failing = 0; failing < 40; ++failing) {
            cache.reset();
            FaultyFileSystem files;
            int calls = 0;
            files.before = [&](Call, const std::string&) { return calls++ == failing ? error : 0; };
            const std::string store = directory / ("faulty" + std::to_string(error) + "_" + std::to_string(failing));
            settings.cache_path = store;
            cache = std::make_unique<compile::CompileCache>(settings, compile::compile_options(settings), &::dlsym,
                                                            files, system_clock());
            nvrtc = Nvrtc::load(SIM_NVRTC_130, cache.get());
            ASSERT_EQ(cubin_of(nvrtc, k_plain), binary);  // a miss, and a save
            cache = std::make_unique<compile::CompileCache>(settings, compile::compile_options(settings), &::dlsym,
                                                            files, system_clock());
            nvrtc = Nvrtc::load(SIM_NVRTC_130, cache.get());
            ASSERT_EQ(cubin_of(nvrtc, k_plain), binary);  // a hit, or another miss
            cache.reset();
            if (calls <= failing) {
                ASSERT_GT(failing, 10);
                break;
            }
        }
    }
}

}  // namespace
}  // namespace cudnn_tune::test
