// SPDX-License-Identifier: Apache-2.0
// `egret grad`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/formats/json.h"
#include "base/random.h"
#include "base/system/file.h"
#include "frontends/onnx.h"
#include "ir/graph/builder.h"
#include "tests/tools/folder_test.h"

namespace egret::tools {
namespace {

using ::testing::HasSubstr;

class GradVerb : public FolderTest {
 protected:
  void SetUp() override {
    base::Random random(3);
    ir::GraphBuilder b;
    const ir::Value x = b.input("x", {ir::DType::kF32, {4, 3}});
    const ir::Value w = b.constant(ir::Tensor::random({ir::DType::kF32, {3, 5}}, random), "weight");
    const ir::Value c = b.constant(ir::Tensor::random({ir::DType::kF32, {5}}, random), "bias");
    b.output("y", b.add("add", {b.add("matmul", {x, w}), c}));
    const auto exported = frontends::export_onnx(*b.finish(), {});
    ASSERT_TRUE(exported.ok());
    ASSERT_TRUE(base::write_file(path("m.onnx"), exported->bytes).ok());
  }
};

TEST_F(GradVerb, WritesAStepThatRuns) {
  const ProgramRun run =
      run_program("grad " + path("m.onnx") + " --optimizer adam --json -o " + path("t.onnx"));
  EXPECT_EQ(run.code, 0) << run.err;
  const auto json = base::Json::parse(run.out);
  ASSERT_TRUE(json.ok()) << run.out;
  EXPECT_EQ(*json->find("trained_elements")->as_real(), 20);
  const ProgramRun step = run_program("run --check " + path("t.onnx"));
  EXPECT_EQ(step.code, 0) << step.err;
  EXPECT_THAT(step.out, HasSubstr("weight.next"));
  EXPECT_THAT(step.out, HasSubstr("bias.v.next"));
}

TEST_F(GradVerb, TrainsWhatIsNotFrozen) {
  const ProgramRun run =
      run_program("grad " + path("m.onnx") + " --loss mse --freeze 'b*' -o " + path("t.onnx"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("1 parameter of 15 numbers"));
}

TEST_F(GradVerb, SaysWhatIsWrong) {
  const std::string command = "grad " + path("m.onnx");
  EXPECT_EQ(run_program(command).code, 2);
  EXPECT_EQ(run_program(command + " --loss hinge -o " + path("t.onnx")).code, 2);
  EXPECT_EQ(run_program(command + " --loss-of z -o " + path("t.onnx")).code, 2);
  EXPECT_EQ(run_program(command + " --freeze '*' -o " + path("t.onnx")).code, 3);
  EXPECT_FALSE(base::read_file(path("t.onnx"), 1 << 20).ok());
}

// Channels of few rows, a batch norm, and classes fewer than random labels are.
TEST_F(GradVerb, ChecksAndTrainsWithBatchNorms) {
  base::Random random(3);
  ir::GraphBuilder b;
  const auto weight = [&](const char* name, ir::TensorType type) {
    return b.constant(ir::Tensor::random(std::move(type), random), name);
  };
  const auto vector = [&](const char* name, double value) {
    return b.constant(ir::Tensor::filled({ir::DType::kF32, {5}}, value), name);
  };
  const ir::Value x = b.input("x", {ir::DType::kF32, {4, 3}});
  const ir::Value h = b.add("matmul", {x, weight("w", {ir::DType::kF32, {3, 5}})});
  const ir::Value n = b.add("batch_norm", {h, vector("scale", 1), vector("bias", 0),
                                           vector("mean", 0.1), vector("var", 0.01)});
  b.output("y", b.add("matmul", {n, weight("v", {ir::DType::kF32, {5, 6}})}));
  ASSERT_TRUE(frontends::export_onnx(*b.finish(), {})->write(path("bn.onnx")).ok());
  for (const char* optimizer : {"sgd", "momentum", "adam"}) {
    const std::string options = " --optimizer " + std::string(optimizer);
    ASSERT_EQ(run_program("grad " + path("bn.onnx") + options + " -o " + path("t.onnx")).code, 0);
    const ProgramRun step = run_program("run --check " + path("t.onnx"));
    EXPECT_EQ(step.code, 0) << step.out << step.err;
    EXPECT_THAT(step.out, HasSubstr(", passed"));
    EXPECT_EQ(step.out.find("the check is weak"), std::string::npos) << step.out;
    const ProgramRun steps = run_program("train-step " + path("bn.onnx") + options + " --steps 20");
    EXPECT_EQ(steps.code, 0) << steps.err;
    EXPECT_EQ(steps.out.find("nan"), std::string::npos) << steps.out;
  }
}

TEST_F(GradVerb, TrainsForSomeSteps) {
  const std::string command = "train-step " + path("m.onnx") + " --loss mse --lr 0.1 --json";
  const auto losses = [&](const std::string& options) {
    const ProgramRun run = run_program(command + options);
    EXPECT_EQ(run.code, 0) << run.err;
    std::vector<double> found;
    const auto json = base::Json::parse(run.out);
    if (!json.ok()) return found;
    for (const base::Json& loss : json->find("losses")->items()) found.push_back(*loss.as_real());
    return found;
  };
  const std::vector<double> curve = losses(" --steps 20");
  ASSERT_EQ(curve.size(), 20U);
  EXPECT_LT(curve.back(), 0.8 * curve.front());
  EXPECT_EQ(losses(" --steps 20"), curve);
  const std::vector<double> reference = losses(" --steps 20 --backend reference");
  ASSERT_EQ(reference.size(), 20U);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_NEAR(reference[i], curve[i], 1e-5 * curve[0]);
}

}  // namespace
}  // namespace egret::tools
