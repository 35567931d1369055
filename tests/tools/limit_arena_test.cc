// SPDX-License-Identifier: Apache-2.0
// --limit-arena of the verbs that run a model as it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/formats/json.h"
#include "base/system/file.h"
#include "frontends/onnx.h"
#include "ir/graph/builder.h"
#include "tests/tools/folder_test.h"

namespace egret::tools {
namespace {

using ::testing::HasSubstr;

class LimitArena : public FolderTest {
 protected:
  // Two products: the value between them takes 16 KiB, a row of it 256 B.
  void SetUp() override {
    ir::GraphBuilder b;
    base::Random random(1);
    const auto weight = [&] {
      return b.constant(ir::Tensor::random({ir::DType::kF32, {64, 64}}, random), "");
    };
    const ir::Value x = b.input("x", {ir::DType::kF32, {64, 64}});
    b.output("y", b.add("matmul", {b.add("matmul", {x, weight()}), weight()}));
    const auto model = frontends::export_onnx(b.finish().value(), {}, {});
    ASSERT_TRUE(base::write_file(model_, model->bytes).ok());
  }

  const std::string model_ = path("m.onnx");
};

TEST_F(LimitArena, WhatCannotBeKeptIsSaidByWarningAndExitCode) {
  for (const std::string& words :
       {"run " + model_, "bench --time 0 --runs 1 " + model_, "compare " + model_ + " " + model_}) {
    const ProgramRun tight = run_program(words + " --limit-arena 64");
    EXPECT_EQ(tight.code, 5) << words;
    EXPECT_THAT(tight.err, HasSubstr("no plan within --limit-arena 64 B was found")) << words;
    EXPECT_NE(tight.out, "") << words;
    const ProgramRun roomy = run_program(words + " --limit-arena 256");  // row after row
    EXPECT_EQ(roomy.code, 0) << words;
    EXPECT_EQ(roomy.err, "") << words;
  }
}

TEST_F(LimitArena, IsNoLimitOfPlans) {
  ASSERT_TRUE(base::write_file(path("plan.json"), "{}").ok());
  const ProgramRun run = run_program("run " + path("plan.json") + " --limit-arena 1KiB");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("--limit-arena cannot be combined with a plan"));
}

}  // namespace
}  // namespace egret::tools
