// SPDX-License-Identifier: Apache-2.0
// A run that a signal ends leaves the files of earlier, complete runs as they are.
#include <csignal>
#include <filesystem>

#include "base/stop.h"
#include "base/system/file.h"
#include "base/timer.h"
#include "frontends/onnx.h"
#include "ir/graph/builder.h"
#include "tests/tools/folder_test.h"
#include "tools/arguments/output_file.h"

namespace egret::tools {
namespace {

constexpr const char* kInterrupted = "timeout --preserve-status -s INT 0.4";

class InterruptedTest : public FolderTest {
 protected:
  void keep(const std::string& name) { ASSERT_TRUE(base::write_file(path(name), "complete").ok()); }
  std::string text_of(const std::string& name) {
    return base::read_file(path(name), 1 << 20).value_or("gone");
  }
};

TEST_F(InterruptedTest, GeneratedRulesStayAsTheyWere) {
  for (const char* name : {"generated.rules", "generated.rules.status.json", "report.json"})
    keep(name);
  const ProgramRun run =
      run_program("rules generate --ops add,relu,transpose,mul,matmul --max-ops 3 -o " + folder(),
                  kInterrupted);
  EXPECT_EQ(run.code, 130) << run.err;
  for (const char* name : {"generated.rules", "generated.rules.status.json", "report.json"})
    EXPECT_EQ(text_of(name), "complete") << name;
}

TEST_F(InterruptedTest, MinimizedRulesStayAsTheyWere) {
  keep("minimal.rules");
  const ProgramRun run =
      run_program("rules minimize all -o " + path("minimal.rules"), kInterrupted);
  EXPECT_EQ(run.code, 130) << run.err;
  EXPECT_EQ(text_of("minimal.rules"), "complete");
}

TEST_F(InterruptedTest, AnOptimizedModelStaysAsItWas) {
  ASSERT_EQ(run_program("zoo squeezenet1.1 -o " + path("m.onnx")).code, 0);
  keep("out.onnx");
  const ProgramRun run = run_program(
      "optimize --cost-db :memory: " + path("m.onnx") + " -o " + path("out.onnx"), kInterrupted);
  EXPECT_EQ(run.code, 130) << run.err;
  EXPECT_EQ(text_of("out.onnx"), "complete");
}

// Weights are drawn for seconds.
TEST_F(InterruptedTest, AZooModelIsNotWritten) {
  keep("bert.onnx");
  const base::Stopwatch watch;
  const ProgramRun run = run_program("zoo bert-large -o " + path("bert.onnx"), kInterrupted);
  EXPECT_EQ(run.code, 130) << run.err;
  EXPECT_NE(run.err.find("interrupted"), std::string::npos) << run.err;
  EXPECT_EQ(text_of("bert.onnx"), "complete");
  EXPECT_LT(watch.seconds(), 3);
}

// The laws of one concatenation of 3,000 inputs take a minute.
TEST_F(InterruptedTest, LawsOfManyInputsEndWhenTheyAreAskedTo) {
  ir::GraphBuilder b;
  std::vector<ir::Value> inputs;
  for (int i = 0; i < 3000; ++i)
    inputs.push_back(b.input("x" + std::to_string(i), {ir::DType::kF32, {4, 8}}));
  b.output("y", b.add("concat", inputs, {{"axis", std::int64_t{0}}}));
  ASSERT_TRUE(frontends::export_onnx(*b.finish(), {})->write(path("wide.onnx")).ok());
  keep("plan.json");
  const base::Stopwatch watch;
  const ProgramRun run =
      run_program("plan " + path("wide.onnx") + " --mesh x=4 -o " + path("plan.json"),
                  "timeout --preserve-status -s INT 4");
  EXPECT_EQ(run.code, 130) << run.err;
  EXPECT_NE(run.err.find("interrupted"), std::string::npos) << run.err;
  EXPECT_EQ(text_of("plan.json"), "complete");
  EXPECT_LT(watch.seconds(), 15);
}

TEST_F(InterruptedTest, TheReadingOfAModel) {
  ir::GraphBuilder b;
  const ir::Value x = b.input("x", {ir::DType::kF32, {4, 8}});
  b.output("y", b.add("add", {x, b.constant(ir::Tensor({ir::DType::kF32, {4, 8}}), "w")}));
  ASSERT_TRUE(frontends::export_onnx(*b.finish(), {})->write(path("m.onnx")).ok());
  base::request_stop(SIGTERM);
  const auto stopped = frontends::import_onnx(path("m.onnx"), {});
  base::request_stop(0);
  EXPECT_EQ(stopped.status().code(), base::StatusCode::kLimit);
  const auto whole = frontends::import_onnx(path("m.onnx"), {});
  EXPECT_TRUE(whole.ok()) << whole.status().message();
}

// Reads, draws, plans and compares; the signal comes in each of these phases.
TEST_F(InterruptedTest, APlanOfATrainingStep) {
  ASSERT_EQ(run_program("zoo gpt2 -o " + path("m.onnx")).code, 0);
  for (const double after_s : {0.2, 0.6, 1.2, 2.5, 5.0}) {
    const base::Stopwatch watch;
    const ProgramRun run =
        run_program("plan --train --loss mse --machine dgx-h100 --mesh x=8 --quiet " +
                        path("m.onnx") + " -o " + path("plan.json"),
                    "timeout --preserve-status -s TERM " + std::to_string(after_s));
    EXPECT_EQ(run.code, 143) << after_s << ": " << run.err;
    EXPECT_LT(watch.seconds(), after_s + 4) << "1 s on a machine that is free";
  }
}

TEST_F(InterruptedTest, OnlyAFileThatIsThereIsKept) {
  keep("plan.json");
  CommonOptions quiet;
  quiet.progress = ProgressMode::kNever;
  Console console(quiet);
  EXPECT_FALSE(keeps_earlier_file(console, path("plan.json")));
  base::request_stop(SIGINT);
  EXPECT_TRUE(keeps_earlier_file(console, path("plan.json")));
  EXPECT_FALSE(keeps_earlier_file(console, path("other.json")));
  EXPECT_FALSE(keeps_earlier_file(console, "-"));
  base::request_stop(0);
}

TEST_F(InterruptedTest, APlanOfACluster) {
  const base::Stopwatch watch;
  const ProgramRun run = run_program(
      "plan --machine rail-100k --devices 100000 --model-layers 126 --hidden 16384 --heads 128 "
      "--global-batch 12288 --quiet",
      "timeout --preserve-status -s TERM 1");
  EXPECT_EQ(run.code, 143) << run.err;
  EXPECT_LT(watch.seconds(), 4);
}

}  // namespace
}  // namespace egret::tools
