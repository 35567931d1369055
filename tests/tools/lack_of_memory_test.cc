// SPDX-License-Identifier: Apache-2.0
// Verbs within less address space than they need: they end in time, with their result or with exit
// code 5 and the reason, and leave files that are whole.
#include "tools/frame/lack_of_memory.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <functional>
#include <string>

#include "base/formats/json.h"
#include "base/system/file.h"
#include "tests/address_space.h"
#include "tests/paths.h"
#include "tests/tools/folder_test.h"

namespace egret::tools {
namespace {

using ::testing::HasSubstr;

constexpr int kLoaderFailed = 127;  // the system's loader found no room for the libraries

class WithinMemory : public FolderTest {
 protected:
  void SetUp() override {
#ifndef EGRET_LIMITS_ADDRESS_SPACE
    GTEST_SKIP() << "sanitizers reserve terabytes";
#endif
  }

  // `before` and `after` surround the run with each limit, from one that is too small for the
  // libraries to the first with which a run ends well and the next does too. A run that hangs is
  // killed, which its code shows.
  static void within_limits(int step_mib, const std::string& words,
                            const std::function<void()>& before,
                            const std::function<void(const ProgramRun&)>& after) {
    constexpr int kLeast = 40, kMost = 4000;
    int ended_well = 0, answered = 0;
    for (int mib = kLeast; ended_well < 2; mib += step_mib) {
      ASSERT_LT(mib, kMost) << words;
      before();
      const std::string bytes = std::to_string(static_cast<std::int64_t>(mib) << 20);
      const ProgramRun run = run_program(words, "timeout -s KILL 120 prlimit --as=" + bytes);
      ended_well = run.code == 0 ? ended_well + 1 : 0;
      if (run.code == kLoaderFailed) continue;
      const testing::ScopedTrace trace(__FILE__, __LINE__,
                                       words + " within " + std::to_string(mib) + " MiB");
      ++answered;
      ASSERT_TRUE(run.code == 0 || run.code == 5) << run.code << run.err;
      if (run.code == 5) {
        EXPECT_THAT(run.err, HasSubstr("not enough memory"));
      }
      after(run);
    }
    EXPECT_GT(answered, 2) << words;
  }

  std::string text(const std::string& name) const {
    return base::read_file(path(name), std::int64_t{1} << 30).value_or("gone");
  }
};

// Beside the files of a whole run, those that keep the model's own nodes are a valid result: where
// the plan that would be measured finds no room. Either way they prove each other.
TEST_F(WithinMemory, OptimizeLeavesWholeFiles) {
  const std::string model = std::string(EGRET_SOURCE_DIR) + "/experiments/data/ppocr_cls.onnx";
  const std::string words =
      "optimize --quick --limit-time 60s --threads 2 --cost-db :memory: " + model + " -o " +
      path("o.onnx") + " --certificate " + path("c.json");
  const std::string check = std::string(EGRET_BINARY_DIR) + "/bin/egret-check " + model + " " +
                            path("o.onnx") + " " + path("c.json") + " > /dev/null";
  const auto keep = [&] {
    for (const char* name : {"o.onnx", "c.json"})
      ASSERT_TRUE(base::write_file(path(name), "old").ok());
  };
  within_limits(20, words, keep, [&](const ProgramRun& run) {
    if (text("o.onnx") == "old") {
      EXPECT_EQ(run.code, 5);
      EXPECT_EQ(text("c.json"), "old");
    } else {
      EXPECT_EQ(std::system(check.c_str()), 0);
    }
  });
}

TEST_F(WithinMemory, OtherVerbsEndInTimeAndSayWhy) {
  const std::string model = std::string(EGRET_SOURCE_DIR) + "/experiments/data/ppocr_cls.onnx";
  ASSERT_TRUE(
      base::write_file(path("a.rules"),
                       "rule a\n  matmul(matmul(?x, ?y), ?z) => matmul(?x, matmul(?y, ?z))\n")
          .ok());
  const std::string gpt = " --model-layers 16 --hidden 2048 --heads 16 --global-batch 64";
  for (const std::string& words :
       {std::string("version"), "inspect " + model, "run --threads 2 " + model,
        "rules verify --threads 2 --instances 20 " + path("a.rules"),
        "plan --machine dgx-a100 --devices 16" + gpt, "simulate --tp 2 --pp 4 --dp 2" + gpt}) {
    within_limits(
        40, words, [] {}, [](const ProgramRun&) {});
  }
}

TEST(SayNoMemory, SaysItInBothForms) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  EXPECT_EQ(say_no_memory(true), 5);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("egret: error: not enough memory"));
  const auto json = base::Json::parse(testing::internal::GetCapturedStdout());
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(*json->find("schema_version")->as_integer(), base::kJsonSchemaVersion);
  EXPECT_EQ(*json->find("error")->find("code")->as_integer(), 5);
  EXPECT_EQ(*json->find("error")->find("kind")->as_string(), "limit hit");
}

}  // namespace
}  // namespace egret::tools
