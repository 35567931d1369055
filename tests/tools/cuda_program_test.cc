// SPDX-License-Identifier: Apache-2.0
// Whole commands on the CUDA backend, over a library that stands in for NVIDIA's
// (tests/backends/fake_cuda_library.cc).
#include <gtest/gtest.h>

#include "backends/codegen/host_compiler.h"
#include "base/formats/json.h"
#include "base/system/file.h"
#include "frontends/onnx.h"
#include "ir/graph/builder.h"
#include "tests/backends/small_network.h"
#include "tests/paths.h"
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
  // Nothing is computed, a clock says what it would take.
  ProgramRun run_simulated(const std::string& words) const {
    return run_program(words,
                       "FAKE_CUDA=simulates EGRET_CUDA_LIBRARIES=" EGRET_BINARY_DIR "/fake_cuda");
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

// Three products of one input, each with a bias: on a GPU that small kernels leave idle, one of all
// takes hardly longer than each.
TEST_F(CudaProgram, OptimizesByWhatTheDeviceTakes) {
  using ir::TensorType;
  ir::GraphBuilder b;
  base::Random random(4);
  const auto constant = [&](const ir::Shape& shape) {
    return b.constant(ir::Tensor::random(TensorType(ir::DType::kF32, shape), random));
  };
  const ir::Value x = b.input("x", TensorType(ir::DType::kF32, {64, 256}));
  ir::Value sum{};
  for (int i = 0; i < 3; ++i) {
    const ir::Value product = b.add("matmul", {x, constant({256, 128})});
    const ir::Value part =
        b.add("softmax", {b.add("add", {product, constant({128})})}, {{"axis", std::int64_t{1}}});
    sum = i == 0 ? part : b.add("add", {sum, part});
  }
  b.output("y", sum);
  const auto exported = frontends::export_onnx(*std::move(b).finish(), {});
  ASSERT_TRUE(exported.ok()) << exported.status().message();
  ASSERT_TRUE(base::write_file(path("three.onnx"), exported->bytes).ok());
  const ProgramRun done = run_simulated("optimize " + path("three.onnx") + " -o " +
                                        path("one.onnx") + " --backend cuda --no-check --json" +
                                        " --measure-time 0s --cost-db " + path("costs.db"));
  ASSERT_EQ(done.code, 0) << done.err;
  const auto report = base::Json::parse(done.out);
  ASSERT_TRUE(report.ok()) << done.out;
  const base::Json& after = *report->find("operators_after_by_kind");
  std::int64_t products = 0;
  for (const char* kind : {"MatMul", "Gemm"})
    products += after.find(kind) != nullptr ? *after.find(kind)->as_integer() : 0;
  EXPECT_EQ(products, 1) << done.out;
  const double before = *report->find("measured_before_s")->as_real();
  const double predicted = *report->find("predicted_before_s")->as_real();
  EXPECT_LT(*report->find("measured_after_s")->as_real(), before);
  EXPECT_LT(predicted, 2 * before);  // kernels alone, not what brings inputs to the device
  EXPECT_GT(predicted, before / 2);
}

// By kernels large enough to keep it busy, and without what a launch takes.
TEST_F(CudaProgram, CalibratesTheDevice) {
  const ProgramRun done =
      run_simulated("costs calibrate --backend cuda --json --cost-db " + path("costs.db"));
  ASSERT_EQ(done.code, 0) << done.err;
  const auto report = base::Json::parse(done.out);
  ASSERT_TRUE(report.ok()) << done.out;
  const auto rate = [&](const char* of, const char* name) {
    return *report->find(of)->find(name)->as_real();
  };
  for (const char* name : {"flops_per_second", "bytes_per_second"}) {
    EXPECT_GT(rate("rates", name), 0.25 * rate("assumed", name)) << name;
    EXPECT_LT(rate("rates", name), rate("assumed", name)) << name;
  }
  EXPECT_GT(rate("rates", "seconds_per_kernel"), rate("assumed", "seconds_per_kernel"));
  EXPECT_LT(rate("rates", "seconds_per_kernel"), 3e-6);
}

TEST_F(CudaProgram, SaysThatThereIsAGpu) {
  const ProgramRun doctor = run("doctor");
  EXPECT_NE(doctor.out.find("1 device"), std::string::npos) << doctor.out;
}

}  // namespace
}  // namespace egret::tools
