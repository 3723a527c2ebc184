// SPDX-License-Identifier: Apache-2.0
// doctor: what it says about this machine, a cache and a program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "cli/cudnn_use.hpp"
#include "cli/elf_file.hpp"
#include "cli/python_packages.hpp"
#include "tool_runner.hpp"

namespace cudnn_tune {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::describe;
using testing::Folder;
using ::testing::HasSubstr;
using testing::run_child;
using testing::run_tool;
using testing::write_cache;

const testing::ChildOptions k_simulated = {.environment = {{"LD_LIBRARY_PATH", SIM "/v9:" SIM "/cuda"}}};

// The texts of the checks with an id, each "state: what".
std::vector<std::string> said(const json& report, const std::string& id) {
    std::vector<std::string> texts;
    for (const json& check : report["checks"]) {
        if (check["id"] == id) {
            texts.push_back(check["state"].get<std::string>() + ": " + check["what"].get<std::string>());
        }
    }
    return texts;
}

json diagnose(std::vector<std::string> arguments, int exit_code = 0,
              const testing::ChildOptions& options = k_simulated) {
    arguments.insert(arguments.begin(), {"doctor", "--json"});
    const auto result = run_tool(arguments, options);
    EXPECT_EQ(result.exit_code, exit_code) << describe(result);
    return json::parse(result.out, nullptr, false);
}

TEST(Doctor, SeesObjectsDriverGpuAndLibrary) {
    const json report = diagnose({});
    EXPECT_EQ(report["ok"], true);
    EXPECT_EQ(said(report, "objects"), std::vector<std::string>{"ok: " SHIM " and the engine beside it load"});
    EXPECT_THAT(said(report, "gpu").at(0), HasSubstr("ok: GPU 0: Simulated GPU, compute capability 9.0, 132 SMs"));
    EXPECT_EQ(said(report, "cudnn").at(0), "ok: cuDNN 9.19.0: " SIM "/v9/libcudnn.so.9");
}

TEST(Doctor, EndsWithTheNextCommand) {
    Folder folder;
    const auto result = run_tool({"doctor", "--cache", folder.path("c"), "--", "/bin/sh", "it's"}, k_simulated);
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.err, "");
    EXPECT_THAT(result.out, ::testing::EndsWith("\nnext: cudnn-tune run --stats --cache " + folder.path("c") +
                                                " -- /bin/sh 'it'\\''s'\n"));
}

TEST(Doctor, SeesTheStateOfACacheAndLeavesNothingBehind) {
    Folder folder;
    EXPECT_EQ(said(diagnose({"--cache", folder.path("c")}), "cache").at(0),
              "ok: " + folder.path("c") + " does not exist yet; it will be made");
    EXPECT_TRUE(fs::is_empty(folder.path()));
    write_cache(folder.path("c"), {testing::sample_record()});
    const std::string before = testing::contents_of(folder);
    const json report = diagnose({"--cache", folder.path("c")});
    EXPECT_EQ(said(report, "cache").at(0), "ok: " + folder.path("c") + " can be read: 1 records");
    EXPECT_EQ(said(report, "locks"), std::vector<std::string>{"ok: locks work there"});
    EXPECT_EQ(said(report, "kernels"),
              std::vector<std::string>{"ok: run-time compilations will be kept in " + folder.path("c.kernels")});
    EXPECT_EQ(testing::contents_of(folder), before);
}

TEST(Doctor, SaysWhatIsWrongWithACache) {
    Folder folder;
    EXPECT_THAT(said(diagnose({"--cache", folder.path()}, 1), "cache").at(0), HasSubstr("is a folder, not a file"));
    EXPECT_THAT(said(diagnose({"--cache", folder.path("none/c")}, 1), "cache").at(0), HasSubstr("No such file"));
    testing::write_text(folder.path("text"), "hello\n");
    EXPECT_THAT(said(diagnose({"--cache", folder.path("text")}, 1), "cache").at(0),
                HasSubstr("it is not a cudnn-tune cache file"));
    const auto result = run_tool({"doctor", "--cache", folder.path("none/c")}, k_simulated);
    EXPECT_THAT(result.out, ::testing::EndsWith("\nfirst: make the folder: mkdir -p " + folder.path("none") + "\n"));
}

TEST(Doctor, SaysWhetherKeptCompilationsAreTrusted) {
    Folder folder;
    write_cache(folder.path("c"), {});
    fs::create_directory(folder.path("c.kernels"));
    fs::permissions(folder.path("c.kernels"), fs::perms::all);
    EXPECT_THAT(said(diagnose({"--cache", folder.path("c")}), "kernels").at(0),
                HasSubstr("warning: " + folder.path("c.kernels") + " is not used: it is writable by everybody"));
    fs::permissions(folder.path("c.kernels"), fs::perms::owner_all);
    EXPECT_THAT(said(diagnose({"--cache", folder.path("c")}), "kernels").at(0),
                HasSubstr("ok: 0 kept compilations are trusted and used"));
}

TEST(Doctor, NamesVariablesThatAreMisspeltOrMakeNoSense) {
    auto options = k_simulated;
    options.environment["CUDNN_TUNE_CASHE"] = "x";
    options.environment["CUDNN_TUNE_MODE"] = "fast";
    const auto texts = said(diagnose({}, 0, options), "environment");
    EXPECT_THAT(texts, ::testing::Contains("warning: no variable is called CUDNN_TUNE_CASHE"));
    EXPECT_THAT(texts, ::testing::Contains(HasSubstr("warning: CUDNN_TUNE_MODE=fast is none of tune, read")));
}

TEST(Doctor, ChecksThePolicy) {
    Folder folder;
    auto options = k_simulated;
    options.environment["CUDNN_TUNE_POLICY"] = folder.path("policy.json");
    testing::write_text(folder.path("policy.json"), "{\"results\": \"best\"}");
    EXPECT_THAT(said(diagnose({}, 0, options), "environment"),
                ::testing::Contains("ok: the policy " + folder.path("policy.json") + " is valid"));
    testing::write_text(folder.path("policy.json"),
                        "{\"rules\": [{\"match\": {\"dtype\": \"f16\"}, \"upgrade\": true}]}");
    const json report = diagnose({}, 0, options);
    EXPECT_THAT(said(report, "environment"), ::testing::Contains(HasSubstr(" is valid; it upgrades legacy programs")));
    EXPECT_THAT(report["next"].get<std::string>(),
                HasSubstr("CUDNN_TUNE_POLICY=" + folder.path("policy.json") + " cudnn-tune run "));
    testing::write_text(folder.path("policy.json"), "{\"resluts\": \"best\"}");
    EXPECT_THAT(said(diagnose({}, 0, options), "environment"),
                ::testing::Contains(HasSubstr("warning: the policy " + folder.path("policy.json") + " is not used: ")));
}

TEST(Doctor, TellsHowAProgramUsesTheLibrary) {
    if (std::string(CLIENT).empty()) {
        GTEST_SKIP() << "the benchmarks' client is not built";
    }
    const auto texts = said(diagnose({"--", CLIENT}), "program");
    ASSERT_EQ(texts.size(), 1u);
    EXPECT_THAT(texts[0], HasSubstr("caught by"));
}

TEST(Doctor, KnowsProgramsThatCannotBeCaught) {
    Folder folder;
    EXPECT_THAT(said(diagnose({"--", "no-such-program"}, 1), "program").at(0), HasSubstr("there is no program"));
    fs::copy("/bin/true", folder.path("setuid"));
    ASSERT_EQ(::chmod(folder.path("setuid").c_str(), 04755), 0);
    EXPECT_THAT(said(diagnose({"--", folder.path("setuid")}, 1), "program").at(0), HasSubstr("set-user-ID"));
    EXPECT_THAT(said(diagnose({"--", "/bin/true"}), "program").at(0),
                HasSubstr("warning: /bin/true and its libraries do not name cuDNN"));
}

// Compiles a small library, so that its file is what the compiler makes of it.
std::string compile(const Folder& folder, const std::string& name, const std::string& source,
                    const std::vector<std::string>& options) {
    testing::write_text(folder.path("source.c"), source);
    fs::create_directories(fs::path(folder.path(name)).parent_path());
    std::vector<std::string> command = {"cc", folder.path("source.c"), "-o", folder.path(name)};
    command.insert(command.end(), options.begin(), options.end());
    const auto result = run_child(command);
    EXPECT_EQ(result.exit_code, 0) << describe(result);
    return folder.path(name);
}

TEST(CudnnUse, IsToldFromTheFile) {
    Folder folder;
    const std::string linked = compile(folder, "linked.so",
                                       "int cudnnGetVersion(void); int f(void) { return "
                                       "cudnnGetVersion(); }\n",
                                       {"-shared", "-fPIC", SIM "/v9/libcudnn.so.9"});
    EXPECT_EQ(cli::cudnn_use_of(linked), cli::CudnnUse::linked);
    const std::string looked_up =
        compile(folder, "looked_up.so", "const char* name = \"libcudnn.so.9\";\n", {"-shared", "-fPIC"});
    EXPECT_EQ(cli::cudnn_use_of(looked_up), cli::CudnnUse::looked_up);
    const std::string stub = compile(
        folder, "stub.so", "const char* name = \"libcudnn.so.9\"; int cudnnGetVersion(void) { return !name; }\n",
        {"-shared", "-fPIC"});
    EXPECT_EQ(cli::cudnn_use_of(stub), cli::CudnnUse::looked_up) << "functions that look up those of the same name";
    const std::string built_in = compile(folder, "built_in",
                                         "int cudnnCreateTensorDescriptor(void) { return 0; }\nint main(void) { return "
                                         "cudnnCreateTensorDescriptor(); }\n",
                                         {});
    EXPECT_EQ(cli::cudnn_use_of(built_in), cli::CudnnUse::built_in);
    EXPECT_THAT(said(diagnose({"--", built_in}, 1), "program").at(0), HasSubstr("has cuDNN linked into it"));
    const std::string is_static = compile(folder, "static", "int main(void) { return 0; }\n", {"-static"});
    EXPECT_THAT(said(diagnose({"--", is_static}, 1), "program").at(0), HasSubstr("linked statically"));
    EXPECT_EQ(cli::cudnn_use_of("/bin/true"), cli::CudnnUse::none);
    EXPECT_EQ(cli::cudnn_use_of(SIM "/v9/libcudnn.so.9"), cli::CudnnUse::none) << "it is cuDNN";
    testing::write_text(folder.path("text"), "#!/bin/sh\n");
    EXPECT_EQ(cli::read_elf(folder.path("text")), std::nullopt);
}

TEST(CudnnUse, IsFoundInPythonPackages) {
    Folder folder;
    compile(folder, "torch/lib/libtorch_cuda.so",
            "int cudnnGetVersion(void); int f(void) { return cudnnGetVersion(); }\n",
            {"-shared", "-fPIC", SIM "/v9/libcudnn.so.9"});
    fs::create_directory(folder.path("torch-2.11.0.dist-info"));
    compile(folder, "jax_plugins/xla_cuda13/xla_cuda_plugin.so", "const char* name = \"libcudnn.so.9\";\n",
            {"-shared", "-fPIC"});
    fs::create_directory(folder.path("tensorflow"));
    const auto users = cli::users_in_folders({"", folder.path("none"), folder.path()});
    ASSERT_EQ(users.size(), 3u);
    EXPECT_EQ(users[0].name, "PyTorch 2.11.0");
    EXPECT_EQ(users[0].use, cli::CudnnUse::linked);
    EXPECT_EQ(users[1].name, "JAX");
    EXPECT_EQ(users[1].use, cli::CudnnUse::looked_up);
    EXPECT_EQ(users[2].use, cli::CudnnUse::none);
}

TEST(CudnnUse, OfAPythonProgramIsThatOfItsPackages) {
    Folder folder;
    compile(folder, "torch/lib/libtorch_cuda.so",
            "int cudnnGetVersion(void); int f(void) { return cudnnGetVersion(); }\n",
            {"-shared", "-fPIC", SIM "/v9/libcudnn.so.9"});
    auto options = k_simulated;
    options.environment["PYTHONPATH"] = folder.path();
    testing::write_text(folder.path("torchrun"), "#!/usr/bin/env python3\n");
    fs::permissions(folder.path("torchrun"), fs::perms::owner_all);
    for (const auto& program : std::vector<std::vector<std::string>>{{"--", "python3", "train.py"},
                                                                     {"--", folder.path("torchrun"), "x.py"}}) {
        const auto texts = said(diagnose(program, 0, options), "program");
        ASSERT_FALSE(texts.empty());
        EXPECT_THAT(texts[0], HasSubstr("ok: PyTorch is linked with cuDNN: caught by LD_PRELOAD"));
    }
}

// What measures for a program has to load the cuDNN that the program loads, or its answers fit nothing.
TEST(CudnnUse, TellsWhichLibraryAProgramWouldLoad) {
    Folder folder;
    compile(folder, "linked", "int cudnnGetVersion(void); int main(void) { return cudnnGetVersion() == 0; }\n",
            {SIM "/v9/libcudnn.so.9", "-Wl,-rpath," SIM "/v9"});
    EXPECT_EQ(cli::look_at_program({folder.path("linked")}).cudnn, SIM "/v9/libcudnn.so.9");
    const std::string package = folder.path("nvidia/cudnn/lib/libcudnn.so.9");
    fs::create_directories(fs::path(package).parent_path());
    fs::copy_file(SIM "/v9/libcudnn.so.9", package);
    testing::write_text(folder.path("python"),
                        "#!/bin/sh\nPYTHONPATH=" + folder.path() + " exec /usr/bin/python3 \"$@\"\n");
    fs::permissions(folder.path("python"), fs::perms::owner_all);
    EXPECT_EQ(cli::look_at_program({folder.path("python"), "train.py"}).cudnn, package);
    EXPECT_EQ(cli::look_at_program({"/bin/sh"}).cudnn, "");
}

TEST(CudnnUse, ReadsDamagedFilesWithoutHarm) {
    Folder folder;
    std::string bytes = testing::read_text("/bin/true");
    for (std::size_t length : {std::size_t{0}, std::size_t{4}, std::size_t{63}, std::size_t{200}, bytes.size() / 2}) {
        testing::write_text(folder.path("cut"), bytes.substr(0, length));
        static_cast<void>(cli::cudnn_use_of(folder.path("cut")));
    }
    for (std::size_t at = 16; at < 64; ++at) {
        std::string damaged = bytes;
        damaged[at] = '\xff';
        testing::write_text(folder.path("damaged"), damaged);
        EXPECT_NE(cli::cudnn_use_of(folder.path("damaged")), cli::CudnnUse::linked);
    }
}

}  // namespace
}  // namespace cudnn_tune
