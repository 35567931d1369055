// SPDX-License-Identifier: Apache-2.0
// `egret plan`, and `egret run` of what it writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/formats/json.h"
#include "base/system/file.h"
#include "frontends/onnx.h"
#include "ir/graph/builder.h"
#include "tests/paths.h"
#include "tests/tools/folder_test.h"

namespace egret::tools {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class PlanVerb : public FolderTest {
 protected:
  void SetUp() override { write_model("relu"); }

  // An MLP whose weights are worth cutting.
  void write_model(const char* activation, double bias = 0) {
    ir::GraphBuilder b;
    base::Random random(1);
    const auto weight = [&](const char* name, std::initializer_list<std::int64_t> shape) {
      return b.constant(ir::Tensor::random({ir::DType::kF32, shape}, random), name);
    };
    const ir::Value x = b.input("x", {ir::DType::kF32, {4, 128}});
    const ir::Value h = b.add(activation, {b.add("matmul", {x, weight("w1", {128, 512})})});
    ir::Value y = b.add("matmul", {h, weight("w2", {512, 128})});
    if (bias != 0) y = b.add("add", {y, b.scalar(ir::DType::kF32, bias)});
    b.output("y", y);
    const auto model = frontends::export_onnx(b.finish().value(), {}, {});
    ASSERT_TRUE(base::write_file(path("mlp.onnx"), model->bytes).ok());
  }

  ProgramRun plan(const std::string& words) {
    return run_program("plan " + path("mlp.onnx") + " " + words);
  }
  // `egret run` of the plan by so many processes, or another verb. Under a leak sanitizer these
  // processes are not asked for leaks: what Open MPI's plug-ins keep has lost its module by then,
  // so that no suppression would name it.
  ProgramRun distributed(int ranks, const std::string& words, const std::string& verb = "run ") {
    return run_program(verb + path("plan.json") + " " + words,
                       "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
                       "ASAN_OPTIONS=\"$ASAN_OPTIONS:detect_leaks=0\" mpirun "
                       "--oversubscribe --timeout 60 -n " +
                           std::to_string(ranks));
  }
};

bool has_mpi() {
  return std::system("mpirun --version > /dev/null 2>&1") == 0 &&
         run_program("doctor --json").out.find("MPI") != std::string::npos;
}

TEST_F(PlanVerb, WritesThePlanAndItsFigures) {
  const ProgramRun run = plan("--mesh x=4 -o " + path("plan.json") + " --json");
  ASSERT_EQ(run.code, 0) << run.err;
  const auto json = base::Json::parse(run.out);
  ASSERT_TRUE(json.ok()) << run.out;
  EXPECT_EQ(*json->find("placements")->find("w1")->as_string(), "x:S(1)");
  EXPECT_EQ(*json->find("placements")->find("w2")->as_string(), "x:S(0)");
  const base::Json& sent = json->find("communication")->items().at(0);
  EXPECT_EQ(*sent.find("collective")->as_string(), "all_reduce");
  EXPECT_EQ(*sent.find("count")->as_integer(), 1);
  EXPECT_EQ(*sent.find("bytes")->as_real(), 2 * 3 * 4 * 128 * 4 / 4);
  EXPECT_LT(*json->find("time_s")->as_real(), *json->find("baselines")->find("single")->as_real());
  EXPECT_EQ(base::read_file(path("plan.json"), 1 << 20)->substr(0, 2), "{\n");
}

TEST_F(PlanVerb, KeepsToTheMemoryOfADevice) {
  const auto needed = [](const ProgramRun& run) {
    return static_cast<std::int64_t>(*base::Json::parse(run.out)->find("memory_bytes")->as_real());
  };
  const ProgramRun free = plan("--mesh x=4 --json");
  const ProgramRun fits = plan("--mesh x=4 --json --device-memory " + std::to_string(needed(free)));
  EXPECT_EQ(fits.code, 0) << fits.err;
  EXPECT_LE(needed(fits), needed(free));
  // Less than a quarter of the weights.
  const ProgramRun tight = plan("--mesh x=4 --json --device-memory 64KiB");
  EXPECT_EQ(tight.code, 5) << tight.err;
  EXPECT_THAT(tight.err, HasSubstr("no plan was found within the limit of 64.0 KiB"));
}

TEST_F(PlanVerb, ComparesThePlanForAsLongAsItMay) {
  for (const auto& [limit, check] : {std::pair("60", "passed"), {"0", "skipped"}}) {
    const ProgramRun run = plan("--mesh x=4 --json --limit-check " + std::string(limit));
    ASSERT_EQ(run.code, 0) << run.err;
    EXPECT_EQ(*base::Json::parse(run.out)->find("check")->as_string(), check);
  }
  const ProgramRun late = plan("--mesh x=4 --limit-check 0.000001");
  EXPECT_EQ(late.code, 0) << late.err;
  EXPECT_THAT(late.err, HasSubstr("was not compared with the model in full"));
  // The answer comes first, then the tables.
  EXPECT_LT(late.out.find("a device;"), late.out.find("this plan"));
}

TEST_F(PlanVerb, MarksBaselinesThatAreNoAlternatives) {
  const ProgramRun run = plan("--mesh x=4 --device-memory 300KiB");
  EXPECT_EQ(run.code, 0) << run.err;
  // All weights, 512 KiB, on each device; and inputs in blocks, where the plan gets whole ones.
  EXPECT_THAT(run.out, ContainsRegex("single.*KiB *does not fit"));
  EXPECT_THAT(run.out, ContainsRegex("data.*KiB *does not fit, inputs arrive in blocks"));
  EXPECT_EQ(run.out.find("tensor") == std::string::npos, false);
}

// A class that holds terms of itself, relu(x) being relu(relu(x)).
TEST_F(PlanVerb, EndsWhereRulesMakeCycles) {
  ir::GraphBuilder b;
  const ir::Value once = b.add("relu", {b.input("x", {ir::DType::kF32, {4, 4}})});
  b.output("y", b.add("relu", {once}));
  const auto model = frontends::export_onnx(b.finish().value(), {}, {});
  ASSERT_TRUE(base::write_file(path("mlp.onnx"), model->bytes).ok());
  const ProgramRun run = plan("--mesh x=2 --device-memory 70 --rules default");
  EXPECT_EQ(run.code, 5) << run.err;
}

TEST_F(PlanVerb, TakesTimesAsOtherVerbsDo) {
  const ProgramRun run = plan("--mesh x=2 --extract-time 20s");
  EXPECT_EQ(run.code, 0) << run.err;
}

TEST_F(PlanVerb, SaysWhatIsWrong) {
  EXPECT_THAT(plan("--mesh x").err, HasSubstr("'x' is not a mesh axis; write NAME=SIZE"));
  EXPECT_THAT(plan("--machine dgx-h10").err, HasSubstr("did you mean \"dgx-h100\"?"));
  ASSERT_TRUE(base::write_file(path("m.toml"), "nam = 1\n").ok());
  const ProgramRun run = plan("--machine " + path("m.toml"));
  EXPECT_EQ(run.code, 3);
  EXPECT_THAT(run.err, HasSubstr("m.toml:1: unknown key nam; the keys are axis, device."));
  // Four rows are no eight blocks.
  EXPECT_THAT(plan("--mesh x=8 --strategy data").err,
              HasSubstr("no plan exists for --strategy data"));
}

TEST_F(PlanVerb, IsInterpretedInOneProcess) {
  ASSERT_EQ(plan("--mesh x=2,y=2 -o " + path("plan.json")).code, 0);
  const ProgramRun run = run_program("run " + path("plan.json") + " --check --json");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(*base::Json::parse(run.out)->find("passed")->as_bool());
}

TEST_F(PlanVerb, FindsItsModelFromAnyFolder) {
  std::filesystem::create_directory(path("sub"));
  const std::string egret = EGRET_BINARY_DIR "/bin/egret ";
  const auto shell = [&](const std::string& commands) {
    return std::system(("cd " + folder() + " && " + commands + " > out 2> err").c_str());
  };
  ASSERT_EQ(shell(egret + "plan mlp.onnx --mesh x=2 -o sub/p.json"), 0);
  EXPECT_EQ(shell("cd sub && " + egret + "run p.json"), 0);
  EXPECT_EQ(shell(egret + "run sub/p.json"), 0);
  EXPECT_EQ(shell("cd / && " + egret + "run " + path("sub/p.json")), 0);
  const auto json = base::Json::parse(*base::read_file(path("sub/p.json"), 1 << 20));
  EXPECT_EQ(*json->find("model")->as_string(), "../mlp.onnx");
  std::filesystem::remove(path("mlp.onnx"));
  const ProgramRun run = run_program("run " + path("sub/p.json"));
  EXPECT_EQ(run.code, 7);
  EXPECT_THAT(run.err, HasSubstr("the model of plan " + path("sub/p.json") + ": "));
}

TEST_F(PlanVerb, OtherJsonIsSaidToBeNoPlan) {
  ASSERT_TRUE(base::write_file(path("e.json"), "{\"nodes\": {}}").ok());
  const ProgramRun run = run_program("run " + path("e.json"));
  EXPECT_EQ(run.code, 3);
  EXPECT_THAT(run.err, HasSubstr("e.json: not a plan of"));
}

// Weights alone do not tell models apart: a plan would compute what the old one did.
TEST_F(PlanVerb, IsRefusedForAnotherModel) {
  write_model("relu", 0.5);
  ASSERT_EQ(plan("--mesh x=2 --strategy tensor -o " + path("plan.json")).code, 0);
  ASSERT_EQ(run_program("run " + path("plan.json")).code, 0);
  for (const bool other_operator : {true, false}) {
    other_operator ? write_model("sigmoid", 0.5) : write_model("relu", 0.25);
    const ProgramRun run = run_program("run " + path("plan.json"));
    EXPECT_EQ(run.code, 3) << run.out;
    EXPECT_THAT(run.err, HasSubstr("The model has changed"));
    EXPECT_THAT(run.err, HasSubstr(path("mlp.onnx") + " has"));
  }
}

TEST_F(PlanVerb, IsRefusedWhenItWasEdited) {
  write_model("relu", 0.5);
  ASSERT_EQ(plan("--mesh x=2 -o " + path("plan.json")).code, 0);
  const std::string text = *base::read_file(path("plan.json"), 1 << 20);
  const auto error_after = [&](const std::string& from, const std::string& to) {
    std::string edited = text;
    const std::size_t at = edited.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    if (at != std::string::npos) edited.replace(at, from.size(), to);
    EXPECT_TRUE(base::write_file(path("plan.json"), edited).ok());
    const ProgramRun run = run_program("run " + path("plan.json"));
    EXPECT_EQ(run.code, 3) << run.err;
    return run.err;
  };
  EXPECT_THAT(error_after("    0.5\n", "    0.75\n"),
              HasSubstr("were changed after the plan was made"));
  EXPECT_THAT(error_after("\"schema_version\": 1", "\"schema_version\": 99"),
              HasSubstr("schema_version 99 is unknown"));
  EXPECT_THAT(error_after("\"schema_version\": 1", "\"schema_version\": \"1\""),
              HasSubstr("schema_version"));
  EXPECT_THAT(error_after("\"schema_version\": 1,", ""), HasSubstr("'schema_version' is missing"));
}

TEST_F(PlanVerb, IsRunByRanks) {
  if (!has_mpi()) GTEST_SKIP() << "without MPI";
  for (const int ranks : {2, 4}) {
    ASSERT_EQ(plan("--mesh x=" + std::to_string(ranks) + " -o " + path("plan.json")).code, 0);
    const ProgramRun run = distributed(ranks, "--check --json");
    if (run.err.find("built without MPI") != std::string::npos) GTEST_SKIP() << run.err;
    ASSERT_EQ(run.code, 0) << run.err;
    EXPECT_TRUE(*base::Json::parse(run.out)->find("passed")->as_bool());
    // The same again, bit by bit.
    ASSERT_EQ(distributed(ranks, "--output-folder " + folder()).code, 0);
    const auto first = base::read_file(path("output_0.pb"), 1 << 20);
    ASSERT_EQ(distributed(ranks, "--output-folder " + folder()).code, 0);
    EXPECT_EQ(*first, *base::read_file(path("output_0.pb"), 1 << 20));
  }
}

// Attention whose keys and values pass round.
TEST_F(PlanVerb, RingsAreRunByRanks) {
  if (!has_mpi()) GTEST_SKIP() << "without MPI";
  ir::GraphBuilder b;
  const auto input = [&](const char* name) {
    return b.input(name, {ir::DType::kF32, {1, 128, 4}});
  };
  const ir::Value q = input("q");
  const ir::Value k = b.add("transpose", {input("k")}, {{"perm", ir::Integers{0, 2, 1}}});
  const ir::Value weights =
      b.add("softmax", {b.add("matmul", {q, k})}, {{"axis", std::int64_t{2}}});
  b.output("y", b.add("matmul", {weights, input("v")}));
  const auto model = frontends::export_onnx(b.finish().value(), {}, {});
  ASSERT_TRUE(base::write_file(path("mlp.onnx"), model->bytes).ok());
  for (const int ranks : {2, 4, 8}) {
    const std::string words = "--sharded-inputs --mesh x=" + std::to_string(ranks) + " -o " +
                              path("plan.json") + " --json";
    const double free = *base::Json::parse(plan(words).out)->find("memory_bytes")->as_real();
    const auto limit = std::to_string(static_cast<std::int64_t>(0.7 * free));
    const ProgramRun planned = plan(words + " --device-memory " + limit);
    ASSERT_EQ(planned.code, 0) << planned.err;
    EXPECT_THAT(planned.out, HasSubstr("\"ring\""));
    const ProgramRun run = distributed(ranks, "--check --output-folder " + folder());
    if (run.err.find("built without MPI") != std::string::npos) GTEST_SKIP() << run.err;
    ASSERT_EQ(run.code, 0) << run.err;
    const auto first = base::read_file(path("output_0.pb"), 1 << 20);
    ASSERT_EQ(distributed(ranks, "--output-folder " + folder()).code, 0);
    EXPECT_EQ(*first, *base::read_file(path("output_0.pb"), 1 << 20));
  }
}

TEST_F(PlanVerb, FailsOnAllRanksWhereOneFails) {
  if (!has_mpi()) GTEST_SKIP() << "without MPI";
  ASSERT_EQ(plan("--mesh x=4 -o " + path("plan.json")).code, 0);
  const ProgramRun run = distributed(2, "");
  if (run.err.find("built without MPI") != std::string::npos) GTEST_SKIP() << run.err;
  EXPECT_EQ(run.code, 8) << run.err;
  EXPECT_THAT(run.err, HasSubstr("the plan is for 4 ranks (x=4), but mpirun started 2"));
}

TEST_F(PlanVerb, TrainsOnRanksAsOnOneProcess) {
  if (!has_mpi()) GTEST_SKIP() << "without MPI";
  for (const auto& [ranks, words] :
       {std::pair(2, "--optimizer adam"), std::pair(4, "--strategy zero-3 --optimizer momentum"),
        std::pair(8, "--lr 0.1")}) {
    const ProgramRun planned = plan("--train --loss mse --mesh x=" + std::to_string(ranks) + " " +
                                    words + " -o " + path("plan.json"));
    ASSERT_EQ(planned.code, 0) << planned.err;
    const ProgramRun run = distributed(ranks, "--steps 20 --check --json", "train-step ");
    if (run.err.find("built without MPI") != std::string::npos) GTEST_SKIP() << run.err;
    ASSERT_EQ(run.code, 0) << run.out << run.err;
    const auto first = base::Json::parse(run.out);
    EXPECT_EQ(first->find("losses")->items().size(), 20U);
    EXPECT_EQ(first->find("step_seconds")->items().size(), 20U);
    EXPECT_LT(*first->find("losses")->items().back().as_real(),
              *first->find("losses")->items().front().as_real());
    // The same again, bit by bit.
    const ProgramRun again = distributed(ranks, "--steps 20 --json", "train-step ");
    EXPECT_EQ(*base::Json::parse(again.out)->find("left")->as_string(),
              *first->find("left")->as_string());
  }
}

// Each value of a deep network waits for its gradient; no placement fits.
TEST_F(PlanVerb, ComputesValuesAgainWhereMemoryIsShort) {
  ir::GraphBuilder b;
  base::Random random(1);
  ir::Value x = b.input("x", {ir::DType::kF32, {4096, 16}});
  for (int k = 0; k < 8; ++k) {
    const auto weight = ir::Tensor::random({ir::DType::kF32, {16, 16}}, random);
    x = b.add("tanh", {b.add("matmul", {x, b.constant(weight, "w" + std::to_string(k))})});
  }
  b.output("y", x);
  const auto model = frontends::export_onnx(b.finish().value(), {}, {});
  ASSERT_TRUE(base::write_file(path("mlp.onnx"), model->bytes).ok());
  const std::string words = "--train --loss mse --mesh x=2 --extract-time 3s ";
  const auto memory = [](const base::Json& json) { return *json.find("memory_bytes")->as_real(); };
  const base::Json free = *base::Json::parse(plan(words + "--json").out);
  const std::string limited =
      words + "--device-memory " + std::to_string(static_cast<std::int64_t>(0.75 * memory(free)));
  const ProgramRun planned = plan(limited + " --recompute-time 3s --json -o " + path("plan.json") +
                                  " --certificate " + path("plan.cert"));
  ASSERT_EQ(planned.code, 0) << planned.err;
  const base::Json json = *base::Json::parse(planned.out);
  EXPECT_LE(memory(json), *json.find("limit_bytes")->as_real());
  ASSERT_NE(json.find("recomputation"), nullptr);
  EXPECT_GT(*json.find("recomputation")->find("computations")->as_integer(), 1);
  EXPECT_THAT(plan(limited).out, HasSubstr("values are computed again"));
  const ProgramRun proven = run_program("verify-plan " + path("plan.json"));
  EXPECT_EQ(proven.code, 0) << proven.out << proven.err;
  const ProgramRun simulated = run_program("simulate " + path("plan.json") + " --json");
  EXPECT_EQ(simulated.code, 0) << simulated.err;
  const ProgramRun here = run_program("train-step " + path("plan.json") + " --steps 2 --check");
  EXPECT_EQ(here.code, 0) << here.err;
  if (!has_mpi()) GTEST_SKIP() << "without MPI";
  const ProgramRun run = distributed(2, "--steps 5 --check --json", "train-step ");
  if (run.err.find("built without MPI") != std::string::npos) GTEST_SKIP() << run.err;
  EXPECT_EQ(run.code, 0) << run.out << run.err;
  // The plan without recomputation leaves the same parameters.
  ASSERT_EQ(plan(words + "-o " + path("plan.json")).code, 0);
  const ProgramRun kept = distributed(2, "--steps 5 --json", "train-step ");
  EXPECT_EQ(*base::Json::parse(run.out)->find("left")->as_string(),
            *base::Json::parse(kept.out)->find("left")->as_string());
}

TEST_F(PlanVerb, TrainsInOneProcessWithoutRanks) {
  ASSERT_EQ(plan("--train --loss mse --mesh x=2 -o " + path("plan.json")).code, 0);
  const ProgramRun run = run_program("train-step " + path("plan.json") + " --steps 3 --check");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("error against one process: losses "));
  const ProgramRun other = run_program("train-step " + path("plan.json") + " --lr 0.1");
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("--lr cannot be combined with a plan"));
}

TEST_F(PlanVerb, TrainsOnlyPlansOfTrainingSteps) {
  ASSERT_EQ(plan("--mesh x=2 -o " + path("plan.json")).code, 0);
  const ProgramRun run = run_program("train-step " + path("plan.json"));
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err,
              HasSubstr("is not a plan of a training step; `egret plan --train` writes one"));
}

constexpr const char* kGpt =
    "--machine dgx-a100 --devices 16 --model-layers 16 --hidden 2048 --heads 16 --global-batch 64 ";

TEST_F(PlanVerb, PlansATransformerThatSimulateRepeats) {
  const ProgramRun run =
      run_program("plan " + std::string(kGpt) + "--explain --json -o " + path("plan.toml"));
  ASSERT_EQ(run.code, 0) << run.err;
  const auto json = base::Json::parse(run.out);
  ASSERT_TRUE(json.ok());
  const ProgramRun again = run_program("simulate --json --config " + path("plan.toml"));
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(*base::Json::parse(again.out)->find("seconds")->as_real(),
            *json->find("seconds")->as_real());
  EXPECT_FALSE(json->find("runners_up")->items().empty());
  const ProgramRun text = run_program("plan " + std::string(kGpt) + "--tp 2 --zero 1 --plans 2");
  EXPECT_EQ(text.code, 0) << text.err;
  // The answer comes first.
  EXPECT_THAT(text.out.substr(0, text.out.find('\n')), HasSubstr("a step of 0.9"));
  EXPECT_THAT(text.out, HasSubstr("tp 2"));
  EXPECT_THAT(text.out, HasSubstr("megatron"));
}

TEST_F(PlanVerb, RefusesTransformersThatMakeNoSense) {
  for (const auto& [words, message] :
       {std::pair("", "MODEL is missing"),
        {"--devices 8 --mesh x=4", "--mesh needs MODEL"},
        {"--devices 8 --device-memory 16GiB", "--device-memory needs MODEL"},
        {"--devices 8 --lr 0.1", "--lr needs MODEL"},
        {"--devices 8 --heads 3", "--hidden must be a multiple"},
        {"--devices 8 --stage-layers 24", "the plan chooses --stage-layers"},
        {"--devices 8 --tp 5", "no plan exists"},
        {"--devices 8 --trials 4", "cannot be combined with a plan"}}) {
    const ProgramRun run = run_program("plan " + std::string(words));
    EXPECT_EQ(run.code, 2) << words;
    EXPECT_THAT(run.err, HasSubstr(message)) << words;
  }
  const ProgramRun model = plan("--devices 4");
  EXPECT_EQ(model.code, 2);
  EXPECT_THAT(model.err, HasSubstr("cannot be combined with MODEL"));
  const ProgramRun of_transformer = plan("--tp 2");
  EXPECT_EQ(of_transformer.code, 2);
  EXPECT_THAT(of_transformer.err, HasSubstr("--tp is for a transformer"));
}

TEST_F(PlanVerb, ReportsLimitsThatWereSet) {
  const ProgramRun few = run_program("plan " + std::string(kGpt) + "--limit-simulations 1");
  EXPECT_EQ(few.code, 5) << few.err;
  EXPECT_THAT(few.out, HasSubstr("--limit-simulations was reached"));
  const std::string large =
      "plan --machine v100-quad --devices 4 --model-layers 48 --hidden 8192 --heads 64 ";
  const ProgramRun full = run_program(large + "--offload none");
  EXPECT_EQ(full.code, 5);
  EXPECT_THAT(full.err, HasSubstr("no plan was found within the memory"));
  const ProgramRun offloaded = run_program(large);
  EXPECT_EQ(offloaded.code, 0) << offloaded.err;
  EXPECT_THAT(offloaded.out, HasSubstr("weights and optimizer on the host"));
}

}  // namespace
}  // namespace egret::tools
