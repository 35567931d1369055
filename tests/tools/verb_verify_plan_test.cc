// SPDX-License-Identifier: Apache-2.0
// `egret verify-plan`, of what `egret plan` writes and of what it would never write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <utility>

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
    write_square();
    const ProgramRun plan =
        run_program("plan " + path("mlp.onnx") + " --mesh x=2 --strategy tensor -o " +
                    path("plan.json") + " --rank-models " + path("ranks"));
    ASSERT_EQ(plan.code, 0) << plan.err;
  }

  // A copy of the plan with one text replaced.
  std::string edited(const std::string& before, const std::string& after) {
    auto text = base::read_file(path("plan.json"), 1 << 20);
    EXPECT_TRUE(text.ok());
    const std::size_t at = text->find(before);
    EXPECT_NE(at, std::string::npos) << before;
    if (at != std::string::npos) text->replace(at, before.size(), after);
    EXPECT_TRUE(base::write_file(path("edited.json"), *text).ok());
    return path("edited.json");
  }

  // y = relu(x w1) w2, with weights of one size.
  void write_square() {
    ir::GraphBuilder b;
    base::Random random(1);
    const auto weight = [&](const char* name) {
      return b.constant(ir::Tensor::random({ir::DType::kF32, {16, 16}}, random), name);
    };
    const ir::Value x = b.input("x", {ir::DType::kF32, {4, 16}});
    const ir::Value h = b.add("relu", {b.add("matmul", {x, weight("w1")})});
    b.output("y", b.add("matmul", {h, weight("w2")}));
    const auto model = frontends::export_onnx(b.finish().value(), {}, {});
    ASSERT_TRUE(base::write_file(path("square.onnx"), model->bytes).ok());
  }

  // y = relu(x) of some rows, as a model of a rank or of all.
  void write_rows(const std::string& name, std::int64_t rows, const std::string& mesh = "") {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    ir::GraphBuilder b;
    b.output("y", b.add("relu", {b.input("x", {ir::DType::kF32, {rows, 4}})}));
    ir::Graph graph = b.finish().value();
    if (!mesh.empty()) graph.metadata["egret.mesh"] = mesh;
    const auto model = frontends::export_onnx(graph, {}, {});
    ASSERT_TRUE(base::write_file(path(name), model->bytes).ok());
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
                                   "them exchanges\ninputs x x:R\noutputs y x:R\n"));
}

TEST_F(VerifyPlanVerb, NamesTheNodeOfAWrongPlan) {
  const ProgramRun other = verify(edited("\"op\": \"relu\"", "\"op\": \"tanh\""));
  EXPECT_EQ(other.code, 6) << other.out << other.err;
  EXPECT_THAT(other.out, HasSubstr("different: output 'y' differs"));

  // The file calls the sum of both ranks a maximum.
  const ProgramRun maximum = verify(edited("\"from\": \"P(sum)\"", "\"from\": \"P(max)\""));
  EXPECT_EQ(maximum.code, 6) << maximum.out << maximum.err;
  EXPECT_THAT(maximum.out,
              HasSubstr("'all_reduce' is said to change P(max) to R, and what it reads "
                        "and leaves are P(sum) to R"));

  const ProgramRun names = verify(edited("\"name\": \"y\"", "\"name\": \"z\""));
  EXPECT_EQ(names.code, 6) << names.out << names.err;
  EXPECT_THAT(names.out, HasSubstr("the outputs of the plan are 'z', and those of the model 'y'"));

  // No law, which is no proof that the plan is wrong; and files that are no plans.
  const ProgramRun lawless =
      verify(edited("\"op\": \"relu\",\n   \"attributes\": {}",
                    "\"op\": \"softmax\",\n   \"attributes\": {\"axis\": \"1\"}"));
  EXPECT_EQ(lawless.code, 5) << lawless.out << lawless.err;
  EXPECT_THAT(lawless.out, HasSubstr("undecided: "));
  EXPECT_THAT(lawless.out, HasSubstr("softmax has no law"));
  EXPECT_EQ(verify(edited("\"mesh\"", "\"mash\"")).code, 3);
  EXPECT_EQ(verify(edited("\"mesh\": \"x=2\"", "\"mesh\": \"x=two\"")).code, 3);
}

// What two parameters take from the step before is exchanged.
TEST_F(VerifyPlanVerb, NamesValuesThatAreCarriedToOthers) {
  const ProgramRun plan = run_program("plan " + path("square.onnx") +
                                      " --mesh x=2 --train --loss "
                                      "mse -o " +
                                      path("plan.json"));
  ASSERT_EQ(plan.code, 0) << plan.err;
  EXPECT_EQ(verify(path("plan.json")).code, 0);
  auto text = base::read_file(path("plan.json"), 1 << 20);
  ASSERT_TRUE(text.ok());
  const std::size_t carried = text->find("\"carried\"");
  const auto output = [&](std::size_t from) { return text->find("\"output\": ", from) + 10; };
  const std::size_t first = output(carried);
  const std::size_t second = output(first);
  ASSERT_LT(second, text->find(']', carried));
  std::swap((*text)[first], (*text)[second]);
  ASSERT_TRUE(base::write_file(path("swapped.json"), *text).ok());
  const ProgramRun swapped = verify(path("swapped.json"));
  EXPECT_EQ(swapped.code, 6) << swapped.out << swapped.err;
  EXPECT_THAT(swapped.out, HasSubstr("the next step's input 'w1' takes 'w2.next' of this step, and "
                                     "should take 'w1.next'"));
}

TEST_F(VerifyPlanVerb, NamesTheRankWithOtherWeights) {
  std::filesystem::copy_file(path("ranks/rank0.onnx"), path("ranks/rank1.onnx"),
                             std::filesystem::copy_options::overwrite_existing);
  const ProgramRun run = verify(path("ranks") + " " + path("mlp.onnx"));
  EXPECT_EQ(run.code, 6) << run.err;
  EXPECT_THAT(run.out,
              HasSubstr("wrong: 'w1': what the ranks hold are not the blocks of this "
                        "weight; on random inputs output 'y' of rank 0 differs by up to "));
}

// Rows of the batch on each rank, which is no whole output.
TEST_F(VerifyPlanVerb, NeedsNamesForOutputsInBlocks) {
  write_rows("whole.onnx", 8);
  write_rows("own/rank0.onnx", 4);
  write_rows("own/rank1.onnx", 4);
  const std::string words = path("own") + " " + path("whole.onnx") + " --mesh dp=2";
  const ProgramRun unnamed = verify(words);
  EXPECT_EQ(unnamed.code, 6) << unnamed.err;
  EXPECT_THAT(unnamed.out, HasSubstr("wrong: output 'y': a rank leaves f32[4,4]"));
  const ProgramRun named = verify(words + " --placement \"y=dp:S(0)\"");
  EXPECT_EQ(named.code, 0) << named.out << named.err;
  EXPECT_THAT(named.out, HasSubstr("outputs y dp:S(0)"));
  const ProgramRun typo = verify(words + " --placement \"z=dp:S(0)\"");
  EXPECT_EQ(typo.code, 2);
  EXPECT_THAT(typo.err, HasSubstr("no input, weight or output is called 'z'"));
  const ProgramRun twice = verify(words + " --placement \"y=dp:S(0)\" --placement \"y=dp:S(0)\"");
  EXPECT_EQ(twice.code, 2);
  EXPECT_THAT(twice.err, HasSubstr("'y' is given twice"));
}

TEST_F(VerifyPlanVerb, TakesTheMeshOfAllFiles) {
  write_rows("whole.onnx", 8);
  const auto code = [&](const std::string& first, const std::string& second,
                        const std::string& words = "") {
    write_rows("own/rank0.onnx", 8, first);
    write_rows("own/rank1.onnx", 8, second);
    return verify(path("own") + " " + path("whole.onnx") + " " + words).code;
  };
  EXPECT_EQ(code("x=2", "x=2"), 0);
  EXPECT_EQ(code("x=2", "y=2"), 3);
  EXPECT_EQ(code("x=2", ""), 3);
  EXPECT_EQ(code("x=4", "x=4"), 3);
  EXPECT_EQ(code("x=two", "x=two"), 3);
  EXPECT_EQ(code("x=1048576", "x=1048576"), 3);
  EXPECT_EQ(code("x=4", "x=4", "--mesh x=2"), 0);
  EXPECT_EQ(code("x=2", "x=2", "--mesh x=4"), 2);
  // A folder with one of two files is no model that all ranks run.
  std::filesystem::remove(path("own/rank1.onnx"));
  EXPECT_EQ(verify(path("own") + " " + path("whole.onnx")).code, 3);
}

TEST_F(VerifyPlanVerb, BindsSizesOfTheModelAndOfTheRanks) {
  write_rows("fixed.onnx", 8);
  ir::GraphBuilder b;
  b.output("y", b.add("relu", {b.input("x", {ir::DType::kF32, {ir::symbolic_dim("N"), 4}})}));
  const auto open = frontends::export_onnx(b.finish().value(), {}, {});
  ASSERT_TRUE(base::write_file(path("open.onnx"), open->bytes).ok());
  const auto code = [&](const std::string& rank, const std::string& model,
                        const std::string& words) {
    return verify(path(rank) + " " + path(model) + " --mesh x=2 " + words).code;
  };
  EXPECT_EQ(code("fixed.onnx", "open.onnx", "--bind N=8"), 0);
  EXPECT_EQ(code("open.onnx", "fixed.onnx", "--bind N=8"), 0);
  EXPECT_EQ(code("open.onnx", "open.onnx", ""), 0);
  EXPECT_EQ(code("open.onnx", "open.onnx", "--bind M=8"), 2);
}

// What an earlier plan left in the folder are no ranks of a smaller one.
TEST_F(VerifyPlanVerb, ReadsTheRanksOfTheLastPlan) {
  const std::string plan = "plan " + path("mlp.onnx") + " --strategy tensor -o " +
                           path("plan.json") + " --rank-models " + path("ranks");
  ASSERT_EQ(run_program(plan + " --mesh x=4").code, 0);
  ASSERT_TRUE(std::filesystem::exists(path("ranks/rank3.onnx")));
  ASSERT_EQ(run_program(plan + " --mesh x=2").code, 0);
  EXPECT_FALSE(std::filesystem::exists(path("ranks/rank2.onnx")));
  EXPECT_EQ(verify(path("ranks") + " " + path("mlp.onnx")).code, 0);
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
              HasSubstr("--mesh x=4 has 4 ranks, and"));
  EXPECT_EQ(verify(path("ranks") + " " + path("mlp.onnx") + " --mesh x=4").code, 2);
  std::filesystem::remove(path("ranks/rank0.onnx"));
  EXPECT_THAT(error(path("ranks") + " " + path("mlp.onnx")), HasSubstr("there is no rank 0"));
  std::filesystem::create_directory(path("empty"));
  EXPECT_THAT(error(path("empty") + " " + path("mlp.onnx")), HasSubstr("no file rank0.onnx"));
}

}  // namespace
}  // namespace egret::tools
