// SPDX-License-Identifier: Apache-2.0
// Whole commands on the CUDA backend, over a library that stands in for NVIDIA's
// (tests/backends/fake_cuda_library.cc).
#include <gtest/gtest.h>

#include "backends/codegen/host_compiler.h"
#include "base/file.h"
#include "base/json.h"
#include "frontends/onnx.h"
#include "tests/backends/small_network.h"
#include "tests/tools/folder_test.h"

namespace egret::tools {
namespace {

class CudaProgram : public FolderTest {
 protected:
  void SetUp() override {
    const auto compiler = backends::codegen::host_compiler_version();
    if (!compiler.ok()) GTEST_SKIP() << compiler.status().message();
    const auto exported = frontends::export_onnx(backends::small_network(), {});
    ASSERT_TRUE(exported.ok()) << exported.status().message();
    ASSERT_TRUE(base::write_file(path("model.onnx"), exported->bytes).ok());
  }
  ProgramRun run(const std::string& words) const {
    return run_program(words, "EGRET_CUDA_LIBRARIES=" EGRET_BINARY_DIR "/fake_cuda");
  }
  base::Json answer(const std::string& words) const {
    const ProgramRun done = run(words + " --json --backend cuda");
    EXPECT_EQ(done.code, 0) << words << ": " << done.err;
    auto json = base::Json::parse(done.out);
    EXPECT_TRUE(json.ok()) << done.out;
    return json.ok() ? *std::move(json) : base::Json();
  }
};

TEST_F(CudaProgram, RunsAModelInEachPrecision) {
  double last = 0;
  for (const char* precision : {"f32", "bf16"}) {
    const auto report =
        answer("run " + path("model.onnx") + " --check --precision " + std::string(precision));
    EXPECT_TRUE(*report.find("passed")->as_bool());
    const double error = *report.find("max_error")->as_real();
    EXPECT_GT(error, 10 * last);  // bf16 has fewer digits
    last = error;
  }
}

TEST_F(CudaProgram, TimesWhatTheDeviceDoes) {
  const auto report = answer("bench " + path("model.onnx") + " --time 0s --runs 3");
  EXPECT_NEAR(*report.find("device_s")->as_real(), 1e-3, 1e-6);  // between any two events
  EXPECT_GT(*report.find("median_s")->as_real(), 0);
}

TEST_F(CudaProgram, SaysThatThereIsAGpu) {
  const ProgramRun doctor = run("doctor");
  EXPECT_NE(doctor.out.find("1 device(s)"), std::string::npos) << doctor.out;
}

}  // namespace
}  // namespace egret::tools
