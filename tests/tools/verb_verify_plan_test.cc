// SPDX-License-Identifier: Apache-2.0
// `egret verify-plan`, of what `egret plan` writes and of what it would never write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/system/file.h"
#include "frontends/onnx.h"
#include "ir/graph/builder.h"
#include "tests/tools/folder_test.h"

namespace egret::tools {
namespace {

using ::testing::HasSubstr;

class VerifyPlanVerb : public FolderTest {
 protected:
  void SetUp() override {
    ir::GraphBuilder b;
    base::Random random(1);
    const auto weight = [&](const char* name, std::initializer_list<std::int64_t> shape) {
      return b.constant(ir::Tensor::random({ir::DType::kF32, shape}, random), name);
    };
    const ir::Value x = b.input("x", {ir::DType::kF32, {4, 128}});
    const ir::Value h = b.add("relu", {b.add("matmul", {x, weight("w1", {128, 512})})});
    b.output("y", b.add("matmul", {h, weight("w2", {512, 128})}));
    const auto model = frontends::export_onnx(b.finish().value(), {}, {});
    ASSERT_TRUE(base::write_file(path("mlp.onnx"), model->bytes).ok());
    const ProgramRun plan =
        run_program("plan " + path("mlp.onnx") + " --mesh x=2 --strategy tensor -o " +
                    path("plan.json") + " --rank-models " + path("ranks"));
    ASSERT_EQ(plan.code, 0) << plan.err;
  }

  ProgramRun verify(const std::string& words) { return run_program("verify-plan " + words); }
};

TEST_F(VerifyPlanVerb, ProvesAPlanAndTheModelsOfItsRanks) {
  const ProgramRun plan = verify(path("plan.json"));
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("proven\n3 of 3 values of the plan"));
  const ProgramRun named = verify(path("plan.json") + " " + path("mlp.onnx"));
  EXPECT_EQ(named.code, 0) << named.err;
  const ProgramRun ranks = verify(path("ranks") + " " + path("mlp.onnx"));
  EXPECT_EQ(ranks.code, 0) << ranks.err;
  EXPECT_THAT(ranks.out, HasSubstr("nodes of a rank on x=2 follow the laws of placements, 1 of "
                                   "them exchanges"));
}

TEST_F(VerifyPlanVerb, NamesTheNodeOfAWrongPlan) {
  auto text = base::read_file(path("plan.json"), 1 << 20);
  ASSERT_TRUE(text.ok());
  const std::string before = "\"op\": \"relu\"";
  const std::size_t at = text->find(before);
  ASSERT_NE(at, std::string::npos);
  text->replace(at, before.size(), "\"op\": \"tanh\"");
  ASSERT_TRUE(base::write_file(path("other.json"), *text).ok());
  const ProgramRun other = verify(path("other.json"));
  EXPECT_EQ(other.code, 6) << other.out << other.err;
  EXPECT_THAT(other.out, HasSubstr("different: output 'y' differs"));

  // The sum of both ranks is called a copy.
  const std::string partial = "\"from\": \"P(sum)\"";
  const std::size_t exchange = text->find(partial);
  ASSERT_NE(exchange, std::string::npos);
  text->replace(exchange, partial.size(), "\"from\": \"P(max)\"");
  ASSERT_TRUE(base::write_file(path("wrong.json"), *text).ok());
  EXPECT_NE(verify(path("wrong.json")).code, 0);
}

TEST_F(VerifyPlanVerb, NamesTheRankWithOtherWeights) {
  std::filesystem::copy_file(path("ranks/rank0.onnx"), path("ranks/rank1.onnx"),
                             std::filesystem::copy_options::overwrite_existing);
  const ProgramRun run = verify(path("ranks") + " " + path("mlp.onnx"));
  EXPECT_EQ(run.code, 6) << run.err;
  EXPECT_THAT(run.out, HasSubstr("wrong: 'w1': what the ranks hold are not the blocks of this "
                                 "weight"));
}

TEST_F(VerifyPlanVerb, SaysWhatItNeeds) {
  const auto error = [&](const std::string& words) {
    const ProgramRun run = verify(words);
    EXPECT_NE(run.code, 0) << words;
    return run.err;
  };
  EXPECT_THAT(error(path("ranks")), HasSubstr("ranks' models need MODEL"));
  EXPECT_THAT(error(path("mlp.onnx") + " " + path("mlp.onnx")), HasSubstr("needs --mesh"));
  EXPECT_THAT(error(path("plan.json") + " --mesh x=2"),
              HasSubstr("a plan file names its mesh and placements"));
  EXPECT_THAT(error(path("ranks") + " " + path("mlp.onnx") + " --placement x"),
              HasSubstr("it has the form NAME=AXIS:S(0)"));
  EXPECT_THAT(error(path("ranks") + " " + path("mlp.onnx") + " --mesh x=4"),
              HasSubstr("--mesh x=4 has 4 ranks, but"));
  EXPECT_EQ(verify(path("ranks") + " " + path("mlp.onnx") + " --mesh x=4").code, 2);
  std::filesystem::remove(path("ranks/rank0.onnx"));
  EXPECT_THAT(error(path("ranks") + " " + path("mlp.onnx")), HasSubstr("there is no rank 0"));
  std::filesystem::create_directory(path("empty"));
  EXPECT_THAT(error(path("empty") + " " + path("mlp.onnx")), HasSubstr("no file rank0.onnx"));
}

}  // namespace
}  // namespace egret::tools
