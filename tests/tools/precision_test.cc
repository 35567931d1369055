// SPDX-License-Identifier: Apache-2.0
// --precision on the command line: what a backend never does is a usage error, what this processor
// cannot do is said to be missing.
#include <gtest/gtest.h>

#include <filesystem>

#include "backends/backend.h"
#include "base/formats/json.h"
#include "tests/tools/program_run.h"

namespace egret::tools {
namespace {

class PrecisionOption : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fresh_folder();
    model_ = folder_ + "/model.onnx";
    ASSERT_EQ(run_program("zoo squeezenet1.1 -o " + model_).code, 0);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_, model_;
};

TEST_F(PrecisionOption, IsAUsageErrorWhereTheBackendNeverDoesIt) {
  for (const char* precision : {"f16", "tf32"}) {
    const ProgramRun run = run_program("run " + model_ + " --precision " + precision);
    EXPECT_EQ(run.code, 2) << run.err;
    EXPECT_NE(run.err.find("supports f32"), std::string::npos) << run.err;
  }
  EXPECT_EQ(run_program("run " + model_ + " --backend reference --precision bf16").code, 2);
}

// oneDNN is kept from the instructions, as a processor without them would.
TEST_F(PrecisionOption, IsUnavailableWhereTheProcessorCannot) {
  const std::string without = "ONEDNN_MAX_CPU_ISA=AVX512_CORE";
  const std::string verbs[] = {"run", "bench --time 0s", "optimize -o " + folder_ + "/o.onnx"};
  for (const std::string& verb : verbs) {
    const ProgramRun run = run_program(verb + " " + model_ + " --precision bf16", without);
    EXPECT_EQ(run.code, 7) << verb << ": " << run.err;
    EXPECT_NE(run.err.find("avx512_bf16"), std::string::npos) << run.err;
    EXPECT_NE(run.err.find("Use --precision f32"), std::string::npos) << run.err;
  }
  EXPECT_EQ(run_program("run " + model_, without).code, 0);
  const auto json = base::Json::parse(run_program("doctor --json", without).out);
  ASSERT_TRUE(json.ok());
  bool said = false;
  for (const base::Json& component : json->find("components")->items()) {
    if (*component.find("name")->as_string() != "bf16") continue;
    said = true;
    EXPECT_FALSE(*component.find("ready")->as_bool());
  }
  EXPECT_TRUE(said);
}

TEST_F(PrecisionOption, IsCheckedWithItsOwnBound) {
  const auto there = backends::find_backend("cpu")->takes_precision(backends::Precision::kBF16);
  if (!there.ok()) GTEST_SKIP() << there.message();
  const auto bound = [&](const std::string& precision) {
    const ProgramRun run =
        run_program("run " + model_ + " --check --json --precision " + precision);
    EXPECT_EQ(run.code, 0) << run.err;
    const auto json = base::Json::parse(run.out);
    EXPECT_TRUE(json.ok() && *json->find("passed")->as_bool()) << run.out;
    return *json->find("bound")->as_real();
  };
  EXPECT_GT(bound("bf16"), 1000 * bound("f32"));
  const ProgramRun compared = run_program("compare " + model_ + " " + model_ + " --precision bf16");
  EXPECT_EQ(compared.code, 0) << compared.err;
}

TEST_F(PrecisionOption, OfOptimizeIsNamedByTheManifest) {
  const auto there = backends::find_backend("cpu")->takes_precision(backends::Precision::kBF16);
  if (!there.ok()) GTEST_SKIP() << there.message();
  const std::string common = "optimize " + model_ +
                             " --measure-time 0.01s --profile-time 0.2s --cost-db " + folder_ +
                             "/costs.db -o " + folder_ + "/o.onnx";
  const auto named = [&] {
    return std::system(("grep -q egret.precision " + folder_ + "/o.onnx").c_str()) == 0;
  };
  ProgramRun run = run_program(common + " --precision bf16");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(named());
  run = run_program(common);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_FALSE(named());
  // Times in both, under different names.
  EXPECT_NE(run_program("costs list --all-machines --json --cost-db " + folder_ + "/costs.db")
                .out.find(" / bf16"),
            std::string::npos);
}

}  // namespace
}  // namespace egret::tools
