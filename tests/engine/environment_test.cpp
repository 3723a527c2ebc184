// SPDX-License-Identifier: Apache-2.0
// An entry belongs to the GPU, the library and the settings that it was measured with.
#include <gmock/gmock.h>

#include "engine_runner.hpp"

namespace cudnn_tune::test {
namespace {

class Environments : public EngineTest {
  protected:
    // Measures again under what `change` does, and not a third time.
    template <typename Change>
    void expect_another_entry(const char* what, Change change) {
        const sim::Script before_script = script;
        const auto before_environment = environment;
        ASSERT_EQ(run("legacy9", {"get=8"}).counter("forwarded"), 0) << what;
        EXPECT_EQ(run("legacy9", {"get=8"}).counter("hits"), 1) << what;
        change();
        const RunResult changed = run("legacy9", {"get=8"});
        EXPECT_EQ(changed.counter("measured"), 1) << what;
        EXPECT_EQ(changed.counter("hits"), 0) << what;
        EXPECT_EQ(run("legacy9", {"get=8"}).counter("hits"), 1) << what;
        script = before_script;
        environment = before_environment;
        EXPECT_EQ(run("legacy9", {"get=8"}).counter("hits"), 1) << what;
    }
};

TEST_F(Environments, DifferByEverythingThatMayChangeTheAnswer) {
    expect_another_entry("the GPU's name", [&] { script.devices[0].name = "Another simulated GPU"; });
    expect_another_entry("the number of SMs, as in a MIG slice", [&] { script.devices[0].sm_count = 16; });
    expect_another_entry("the compute capability", [&] { script.devices[0].cc_major = 10; });
    expect_another_entry("its minor part", [&] { script.devices[0].cc_minor = 3; });
    expect_another_entry("the version of cuDNN", [&] { script.cudnn_version = 91901; });
    expect_another_entry("the CUDA version of that build", [&] { script.cudart_version = 12080; });
    expect_another_entry("TF32 switched off", [&] { environment["NVIDIA_TF32_OVERRIDE"] = "0"; });
    expect_another_entry("TF32 switched on", [&] { environment["NVIDIA_TF32_OVERRIDE"] = "1"; });
    EXPECT_EQ(cache_lines().size(), 9U);
}

TEST_F(Environments, DoNotDifferByWhatDoesNotChangeTheAnswer) {
    ASSERT_EQ(run("legacy9", {"get=8"}).counter("measured"), 1);
    script.devices[0].uuid_hex = "00112233445566778899aabbccddeeff";
    script.devices[0].total_memory_bytes -= 10 << 20;
    script.driver_version = 13010;
    environment["CUDA_VISIBLE_DEVICES"] = "0";
    EXPECT_EQ(run("legacy9", {"get=8"}).counter("hits"), 1);
}

TEST_F(Environments, OfStrangeNamesAreStoredLikeAnyOther) {
    script.devices[0].name = "Simulated \"GPU\" \\ | cudnn=1 env";
    ASSERT_EQ(run("legacy9", {"get=8"}).counter("measured"), 1);
    EXPECT_EQ(run("legacy9", {"get=8"}).counter("hits"), 1);
}

TEST_F(Environments, WithoutAGpuAreLeftAlone) {
    script.devices.clear();
    const RunResult ours = run("legacy9", {"get=8"});
    EXPECT_EQ(text_of(ours), text_of(run("legacy9", {"get=8"}, Library::absent)));
}

}  // namespace
}  // namespace cudnn_tune::test
