// SPDX-License-Identifier: Apache-2.0
// `egret simulate`, of transformers and of plans.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/formats/json.h"
#include "base/random.h"
#include "base/system/file.h"
#include "base/timer.h"
#include "frontends/onnx.h"
#include "ir/graph/builder.h"
#include "tests/tools/folder_test.h"

namespace egret::tools {
namespace {

using ::testing::HasSubstr;

class SimulateVerb : public FolderTest {
 protected:
  static constexpr const char* kGpt =
      "simulate --model-layers 16 --hidden 2048 --heads 16 --tp 2 --pp 4 --dp 2 --global-batch 32 ";

  void write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(base::write_file(path(name), text).ok());
  }
  base::Json json_of(const std::string& words) {
    const ProgramRun run = run_program(words + " --json");
    EXPECT_EQ(run.code, 0) << run.err;
    return base::Json::parse(run.out).value_or(base::Json::object());
  }
};

double real(const base::Json& json, std::string_view member) {
  const base::Json* found = json.find(member);
  EXPECT_NE(found, nullptr) << member;
  return found == nullptr ? 0 : found->as_real().value();
}

TEST_F(SimulateVerb, ReportsTimeAndMemoryOfAStep) {
  const base::Json json = json_of(kGpt);
  EXPECT_EQ(real(json, "devices"), 16);
  double sum = 0;
  for (const auto& [use, seconds] : json.find("time")->members()) sum += *seconds.as_real();
  EXPECT_NEAR(sum, real(json, "seconds"), 1e-9 * sum);
  EXPECT_GT(real(json, "mfu"), 0.1);
  ASSERT_EQ(json.find("pipeline")->items().size(), 4);
  for (const base::Json& rank : json.find("pipeline")->items()) {
    double bytes = 0;
    for (const auto& [kind, part] : rank.find("peak_memory")->members()) bytes += *part.as_real();
    EXPECT_NEAR(bytes, real(rank, "peak_bytes"), 1);
  }
  const ProgramRun text = run_program(kGpt);
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.out, HasSubstr("bubble"));
  EXPECT_THAT(text.out, HasSubstr("rank 3"));
}

TEST_F(SimulateVerb, WritesATraceWhoseSumsAreTheReports) {
  const base::Json json = json_of(kGpt + ("--trace " + path("t.json")));
  const auto trace = base::Json::parse(base::read_file(path("t.json"), 1 << 28).value());
  ASSERT_TRUE(trace.ok());
  std::map<std::string, double> sums;
  for (const base::Json& event : trace->find("traceEvents")->items()) {
    if (*event.find("ph")->as_string() == "X" && *event.find("pid")->as_integer() == 1)
      sums[*event.find("cat")->as_string()] += 1e-6 * real(event, "dur");
  }
  for (const auto& [part, seconds] : json.find("pipeline")->items()[1].find("parts")->members())
    EXPECT_NEAR(sums[part], *seconds.as_real(), 1e-9) << part;
}

TEST_F(SimulateVerb, ReadsTheDescriptionFromAFile) {
  write("gpt.toml",
        "[simulate]\nmodel-layers = 16\nhidden = 2048\nheads = 16\ntp = 2\npp = 4\ndp = 2\n"
        "global-batch = 32\n");
  EXPECT_EQ(real(json_of("simulate --config " + path("gpt.toml")), "seconds"),
            real(json_of(kGpt), "seconds"));
}

TEST_F(SimulateVerb, SimulatesDistributions) {
  const base::Json json = json_of(kGpt + std::string("--jitter 0.1 --trials 50"));
  const base::Json& random = *json.find("distribution");
  EXPECT_GT(real(random, "mean"), real(json, "seconds"));
  EXPECT_GE(real(random, "p95"), real(random, "p50"));
}

TEST_F(SimulateVerb, SimulatesAHundredThousandDevices) {
  const base::Json json = json_of(
      "simulate --model-layers 96 --hidden 12288 --heads 96 --tp 8 --pp 8 --dp 1563 "
      "--global-batch 150048 --sequence-parallel --overlap-gradients");
  EXPECT_EQ(real(json, "devices"), 100'032);
}

TEST_F(SimulateVerb, WarnsOfTooLittleMemory) {
  const ProgramRun run = run_program("simulate --model-layers 96 --hidden 12288 --heads 96");
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.err, HasSubstr("warning: a device needs"));
}

TEST_F(SimulateVerb, SaysWhatIsWrong) {
  const auto error = [&](const std::string& words, int code) {
    const ProgramRun run = run_program("simulate " + words);
    EXPECT_EQ(run.code, code) << words << run.err;
    return run.err;
  };
  EXPECT_THAT(error("--system dgx-a10", 2), HasSubstr("dgx-a100"));
  EXPECT_THAT(error("--pp 3 --schedule dualpipe --global-batch 12", 2), HasSubstr("dualpipe"));
  EXPECT_THAT(error("--heads 7", 2), HasSubstr("--heads"));
  EXPECT_THAT(error("--jitter 0.1", 2), HasSubstr("--trials"));
  EXPECT_THAT(error("--plan-machine local", 2), HasSubstr("needs a plan"));
  write("bad.toml", "name = \"x\"\n[accelerator]\nspeed = 3\n");
  EXPECT_THAT(error("--system " + path("bad.toml"), 3), HasSubstr("bad.toml:3"));
  write("bad.json", "{\"schema_version\": 1}");
  EXPECT_THAT(error(path("bad.json"), 3), HasSubstr("bad.json"));
}

TEST_F(SimulateVerb, StopsWithinASecond) {
  write("t.json", "complete");
  const base::Stopwatch watch;
  const ProgramRun run =
      run_program(kGpt + std::string("--jitter 0.1 --trials 1000000 --trace ") + path("t.json"),
                  "timeout --preserve-status -s TERM 0.5");
  EXPECT_EQ(run.code, 143) << run.err;
  EXPECT_LT(watch.seconds(), 5);  // on a busy machine
  EXPECT_EQ(base::read_file(path("t.json"), 1 << 20).value_or(""), "complete");
}

TEST_F(SimulateVerb, SimulatesAPlan) {
  ir::GraphBuilder b;
  base::Random random(1);
  const auto weight = [&](const char* name, std::initializer_list<std::int64_t> shape) {
    return b.constant(ir::Tensor::random({ir::DType::kF32, shape}, random), name);
  };
  const ir::Value x = b.input("x", {ir::DType::kF32, {64, 512}});
  const ir::Value h = b.add("relu", {b.add("matmul", {x, weight("w1", {512, 1024})})});
  b.output("y", b.add("matmul", {h, weight("w2", {1024, 512})}));
  const auto model = frontends::export_onnx(b.finish().value(), {}, {});
  ASSERT_TRUE(base::write_file(path("mlp.onnx"), model->bytes).ok());
  const ProgramRun plan = run_program("plan " + path("mlp.onnx") +
                                      " --mesh x=4 --strategy tensor -o " + path("plan.json"));
  ASSERT_EQ(plan.code, 0) << plan.err;
  const base::Json planned =
      base::Json::parse(base::read_file(path("plan.json"), 1 << 24).value()).value();
  const base::Json json =
      json_of("simulate " + path("plan.json") + " --trace " + path("trace.json"));
  // Without overlap, the time is the planner's.
  EXPECT_NEAR(real(json, "sequential_seconds"), real(planned, "time_s"),
              1e-6 * real(planned, "time_s"));
  // `egret run` does not overlap exchanges between processes of one host either.
  EXPECT_FALSE(*json.find("overlap")->as_bool());
  EXPECT_NEAR(real(json, "seconds"), real(json, "sequential_seconds"),
              1e-12 * real(json, "seconds"));
  const base::Json gpus = json_of("simulate " + path("plan.json") + " --plan-machine dgx-a100");
  EXPECT_TRUE(*gpus.find("overlap")->as_bool());
  EXPECT_LE(real(gpus, "seconds"), real(gpus, "sequential_seconds") * (1 + 1e-12));
  EXPECT_GE(real(json, "seconds"), real(json, "compute_seconds"));
  EXPECT_NEAR(real(json, "exposed_seconds"), real(json, "seconds") - real(json, "compute_seconds"),
              1e-12);
  EXPECT_GT(real(json, "communication_seconds"), 0);
  EXPECT_TRUE(base::Json::parse(base::read_file(path("trace.json"), 1 << 24).value()).ok());
  // Flags that have no effect on a plan. A file of options may serve several runs.
  const auto error = [&](const std::string& words) {
    const ProgramRun run = run_program("simulate " + path("plan.json") + words);
    EXPECT_EQ(run.code, 2) << words << run.err;
    return run.err;
  };
  EXPECT_THAT(error(" --system dgx-h100"), HasSubstr("--plan-machine names the machine"));
  EXPECT_THAT(error(" --tp 4"), HasSubstr("--tp is for a transformer"));
  EXPECT_THAT(error(" --jitter 0.1"), HasSubstr("--jitter is for a transformer"));
  EXPECT_THAT(error(" --from-graphs"), HasSubstr("--from-graphs is for a transformer"));
  write("gpt.toml", "[simulate]\ntp = 4\n");
  EXPECT_EQ(
      real(json_of("simulate " + path("plan.json") + " --config " + path("gpt.toml")), "seconds"),
      real(json, "seconds"));
}

}  // namespace
}  // namespace egret::tools
