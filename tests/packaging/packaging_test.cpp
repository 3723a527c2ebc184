// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "tool_runner.hpp"

namespace cudnn_tune {
namespace {

namespace fs = std::filesystem;
using testing::ChildResult;
using testing::describe;
using testing::Folder;
using ::testing::HasSubstr;
using testing::read_text;
using testing::run_child;
using testing::sample_record;
using ::testing::StartsWith;
using testing::write_cache;
using testing::write_text;

// Nothing is given up because the machine is busy.
constexpr const char* k_ample_budget = "60,600";

ChildResult succeed(const std::vector<std::string>& argv, const testing::ChildOptions& options = {}) {
    ChildResult result = run_child(argv, options);
    EXPECT_EQ(result.exit_code, 0) << argv.front() << describe(result);
    return result;
}

std::vector<std::string> words_of(const std::string& text) {
    std::istringstream stream(text);
    return {std::istream_iterator<std::string>(stream), {}};
}

class Packages : public ::testing::Test {
  protected:
    static void SetUpTestSuite() {
        s_folder = new Folder();
        succeed({CPACK, "--config", BUILD_ROOT "/CPackConfig.cmake", "-B", s_folder->path()},
                {.folder = BUILD_ROOT, .timeout_s = 300});
        for (const auto& entry : fs::directory_iterator(s_folder->path())) {
            if (entry.path().extension() == ".deb") {
                s_deb = entry.path();
            } else if (entry.path().extension() == ".gz") {
                s_archive = entry.path();
            }
        }
        ASSERT_FALSE(s_deb.empty());
        ASSERT_FALSE(s_archive.empty());
    }
    static void TearDownTestSuite() {
        delete s_folder;
        s_folder = nullptr;
    }

    // The archive, unpacked where a person might.
    std::string unpack() {
        fs::create_directory(m_folder.path("opt"));
        succeed({"tar", "-xzf", s_archive, "--strip-components=1", "-C", m_folder.path("opt")});
        return m_folder.path("opt");
    }

    Folder m_folder;
    static inline Folder* s_folder = nullptr;
    static inline std::string s_deb;
    static inline std::string s_archive;
};

// A folder that is the root of a machine with the C library, the shell and ldconfig that packages may count on, and a
// program that uses the simulated cuDNN with what that needs.
class CleanMachine {
  public:
    explicit CleanMachine(std::string root) : m_root(std::move(root)) {
        for (const char* const folder :
             {"/var/lib/dpkg/info", "/var/lib/dpkg/updates", "/tmp", "/proc", "/job", "/bin", "/sbin", "/etc"}) {
            fs::create_directories(m_root + folder);
        }
        write_text(m_root + "/var/lib/dpkg/status", "");
        add_with_libraries(VICTIM, "/job/program");
        add_with_libraries(fs::canonical("/bin/sh"), "/bin/sh");
        fs::copy("/sbin/ldconfig", m_root + "/sbin/ldconfig");  // static
        for (const char* const library : {SIM "/v9", SIM "/cuda"}) {
            fs::copy(library, m_root + "/job/" + fs::path(library).filename().string(),
                     fs::copy_options::recursive | fs::copy_options::copy_symlinks);
        }
    }

    [[nodiscard]] ChildResult dpkg(const std::vector<std::string>& arguments) const {
        std::vector<std::string> argv = {"dpkg", "--root=" + m_root, "--force-depends",
                                         "--log=" + m_root + "/dpkg.log"};
        argv.insert(argv.end(), arguments.begin(), arguments.end());
        return run_child(argv);
    }
    // A program that is there; its libraries are looked up there.
    [[nodiscard]] ChildResult run(const std::vector<std::string>& arguments) const {
        std::vector<std::string> argv = {"chroot", m_root};
        argv.insert(argv.end(), arguments.begin(), arguments.end());
        return run_child(
            argv, {.environment = {{"LD_LIBRARY_PATH", "/job/v9:/job/cuda"}, {"CUDNN_TUNE_BUDGET", k_ample_budget}}});
    }
    // Everything that is there, apart from what dpkg and ldconfig keep for themselves.
    [[nodiscard]] std::vector<std::string> files() const {
        std::vector<std::string> paths;
        for (const auto& entry : fs::recursive_directory_iterator(m_root)) {
            const std::string path = entry.path().string().substr(m_root.size());
            if (!path.starts_with("/var/") && path != "/dpkg.log" && path != "/etc/ld.so.cache") {
                paths.push_back(path);
            }
        }
        std::ranges::sort(paths);
        return paths;
    }

  private:
    void add(const std::string& file) { fs::copy(file, m_root + file, fs::copy_options::overwrite_existing); }
    void add_with_libraries(const std::string& program, const std::string& to) {
        fs::copy(program, m_root + to);
        const ChildResult libraries =
            succeed({"ldd", program}, {.environment = {{"LD_LIBRARY_PATH", SIM "/v9:" SIM "/cuda"}}});
        for (const std::string& word : words_of(libraries.out)) {
            if (word.starts_with('/') && !word.starts_with(SIM) && !word.ends_with(':')) {
                fs::create_directories(m_root + fs::path(word).parent_path().string());
                add(word);
                if (word.ends_with("/libc.so.6")) {  // the other libraries of its package
                    for (const char* const name : {"libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"}) {
                        add(fs::path(word).parent_path().string() + "/" + name);
                    }
                }
            }
        }
    }

    std::string m_root;
};

TEST_F(Packages, WorkOnACleanMachineAndLeaveNothingWhenRemoved) {
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can install into another root folder and run programs there";
    }
    const CleanMachine machine(m_folder.path("root"));
    const std::vector<std::string> before = machine.files();
    const ChildResult installed = machine.dpkg({"--install", s_deb});
    ASSERT_EQ(installed.exit_code, 0) << describe(installed);

    EXPECT_THAT(machine.run({"/usr/bin/cudnn-tune", "--version"}).out, StartsWith("cudnn-tune "));
    std::string said[2];
    for (std::string& text : said) {
        const ChildResult result = machine.run(
            {"/usr/bin/cudnn-tune", "run", "--cache", "/job/cache.jsonl", "--stats", "--", "/job/program", "get=8"});
        EXPECT_EQ(result.exit_code, 0) << describe(result);
        text = result.err;
    }
    EXPECT_THAT(said[0], HasSubstr("asked=1 hits=0 measured=1 "));
    EXPECT_THAT(said[1], HasSubstr("asked=1 hits=1 measured=0 "));
    const ChildResult listed = machine.run({"/usr/bin/cudnn-tune", "list", "--json", "/job/cache.jsonl"});
    EXPECT_THAT(listed.out, HasSubstr("gpu=Simulated GPU")) << describe(listed);

    const ChildResult removed = machine.dpkg({"--purge", "cudnn-tune"});
    EXPECT_EQ(removed.exit_code, 0) << describe(removed);
    std::vector<std::string> left = machine.files();
    std::erase_if(left, [](const std::string& path) { return path.starts_with("/job/cache.jsonl"); });
    EXPECT_EQ(left, before);
}

TEST_F(Packages, HoldWhatTheyShould) {
    const ChildResult listed = succeed({"dpkg-deb", "--fsys-tarfile", s_deb}).exit_code == 0
                                   ? succeed({"/bin/sh", "-c", "dpkg-deb --fsys-tarfile '" + s_deb + "' | tar -t"})
                                   : ChildResult{};
    for (const char* const path :
         {"./usr/bin/cudnn-tune", "./usr/" LIBDIR "/cudnn-tune/libcudnn_tune.so",
          "./usr/" LIBDIR "/cudnn-tune/libcudnn_tune_engine.so", "./usr/" LIBDIR "/libcudnn_tune_cache.a",
          "./usr/" LIBDIR "/cmake/cudnn_tune/cudnn_tune-config.cmake", "./usr/" LIBDIR "/pkgconfig/cudnn_tune_cache.pc",
          "./usr/include/cudnn_tune/cache.hpp", "./usr/include/cudnn_tune/cudnn_tune.h",
          "./usr/include/cudnn_tune/version.h", "./usr/share/man/man1/cudnn-tune.1",
          "./usr/share/bash-completion/completions/cudnn-tune", "./usr/share/zsh/site-functions/_cudnn-tune",
          "./usr/share/fish/vendor_completions.d/cudnn-tune.fish", "./usr/share/doc/cudnn-tune/copyright",
          "./usr/share/doc/cudnn-tune/LICENSE", "./usr/share/doc/cudnn-tune/third-party-licenses.txt",
          "./usr/share/doc/cudnn-tune/README.md", "./usr/share/doc/cudnn-tune/docs/redis.md",
          "./usr/share/doc/cudnn-tune/examples/pause_tuning.c"}) {
        EXPECT_THAT(listed.out, HasSubstr(std::string(path) + "\n"));
    }
}

TEST_F(Packages, DependOnTheCLibraryAlone) {
    const std::string depends = succeed({"dpkg-deb", "--field", s_deb, "Depends"}).out;
    EXPECT_THAT(depends, StartsWith("libc6"));
    EXPECT_EQ(depends.find(','), std::string::npos) << depends;
}

TEST_F(Packages, CarryTheLicenceOfEveryLibraryThatIsCompiledIn) {
    const std::string licences = read_text(unpack() + "/share/doc/cudnn-tune/third-party-licenses.txt");
    std::size_t nb_libraries = 0;
    std::istringstream script(read_text(SOURCE_ROOT "/CMakeLists.txt"));
    for (std::string line; std::getline(script, line);) {
        // The rest is for tests, benchmarks or the C library's.
        if (!line.starts_with("find_package(") || line.starts_with("find_package(Threads")) {
            continue;
        }
        std::string name = line.substr(13, line.find_first_of(" )") - 13);
        std::ranges::replace(name, '_', '-');
        EXPECT_THAT(licences, HasSubstr(name));
        nb_libraries += 1;
    }
    EXPECT_GE(nb_libraries, 4u);
    for (const char* const name : {"xxHash", "hiredis"}) {  // found by their files
        EXPECT_THAT(licences, HasSubstr(name));
    }
}

TEST_F(Packages, OfTheArchiveRunWhereverTheyAreUnpacked) {
    const std::string prefix = unpack();
    const ChildResult result =
        succeed({prefix + "/bin/cudnn-tune", "run", "--cache", m_folder.path("c"), "--stats", "--", VICTIM, "get=8"},
                {.environment = {{"LD_LIBRARY_PATH", SIM "/v9:" SIM "/cuda"}, {"CUDNN_TUNE_BUDGET", k_ample_budget}}});
    EXPECT_THAT(result.err, HasSubstr("asked=1 hits=0 measured=1 "));
}

// The example programs, and what they must print.
class Examples : public Packages {
  protected:
    void SetUp() override {
        auto faster = sample_record(8);
        faster.candidates[0].time_ns = 20'000;
        write_cache(m_folder.path("c"), {sample_record(), faster});
        write_text(m_folder.path("c"), read_text(m_folder.path("c")) + "garbage\n");
    }
    void expect_to_work(const std::string& folder) {
        const ChildResult gains = succeed({folder + "/largest_gains", m_folder.path("c")});
        EXPECT_EQ(gains.out,
                  "    100.0 us saved  " + sample_record(8).key.problem + "\n     40.0 us saved  " +
                      sample_record().key.problem +
                      "\nthe first one uses algo6_math0, measured 2026-11-29T12:00:00Z by cudnn-tune 0.1.0\n");
        EXPECT_EQ(gains.err, "1 damaged lines were left out\n");
        const ChildResult none = run_child({folder + "/largest_gains", m_folder.path("none")});
        EXPECT_EQ(none.exit_code, 1);
        EXPECT_EQ(none.err, "largest_gains: " + m_folder.path("none") + " does not exist\n");

        EXPECT_EQ(succeed({folder + "/pause_tuning"}).out, "running without cudnn-tune\nnothing was tuned\n");
        EXPECT_EQ(succeed({folder + "/pause_tuning"}, {.environment = {{"LD_PRELOAD", SHIM}}}).out,
                  "running with cudnn-tune 0.1.0\nnothing was tuned\n");
    }
};

TEST_F(Examples, WorkInTheBuildTree) { expect_to_work(EXAMPLES); }

TEST_F(Examples, BuildAgainstAnInstallationWithCmake) {
    const std::string prefix = unpack();
    const std::string build = m_folder.path("build");
    succeed({CMAKE, "-S", prefix + "/share/doc/cudnn-tune/examples", "-B", build, "-DCMAKE_PREFIX_PATH=" + prefix,
             "-DCMAKE_C_COMPILER=" CC, "-DCMAKE_CXX_COMPILER=" CXX, "-DCMAKE_CXX_STANDARD=17",
             "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Werror", "-DCMAKE_C_FLAGS=-Wall -Wextra -Wpedantic -Werror"});
    succeed({CMAKE, "--build", build});
    expect_to_work(build);
}

TEST_F(Examples, BuildAgainstAnInstallationWithPkgConfig) {
    if (run_child({"pkg-config", "--version"}).exit_code != 0) {
        GTEST_SKIP() << "pkg-config is not installed";
    }
    const std::string prefix = unpack();
    const ChildResult flags = succeed({"pkg-config", "--cflags", "--libs", "cudnn_tune_cache"},
                                      {.environment = {{"PKG_CONFIG_PATH", prefix + "/" LIBDIR "/pkgconfig"}}});
    const std::string sources = prefix + "/share/doc/cudnn-tune/examples";
    std::vector<std::string> compile = {CXX, "-std=c++17", sources + "/largest_gains.cpp", "-o",
                                        m_folder.path("largest_gains")};
    for (const std::string& flag : words_of(flags.out)) {
        compile.push_back(flag);
    }
    succeed(compile);
    // A position-dependent program cannot look missing functions up as easily.
    succeed({CC, "-no-pie", "-fno-pie", "-O2", "-I" + prefix + "/include", sources + "/pause_tuning.c", "-o",
             m_folder.path("pause_tuning")});
    expect_to_work(m_folder.path());
}

}  // namespace
}  // namespace cudnn_tune
