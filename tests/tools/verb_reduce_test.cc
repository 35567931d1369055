// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "base/formats/json.h"
#include "base/system/file.h"
#include "base/timer.h"
#include "frontends/onnx.h"
#include "ir/graph/builder.h"
#include "tests/paths.h"
#include "tests/tools/folder_test.h"

namespace egret::tools {
namespace {

using ::testing::HasSubstr;

class VerbReduce : public FolderTest {
 protected:
  void SetUp() override {
    ir::GraphBuilder b;
    ir::Value x = b.input("x", {ir::DType::kF32, {4, 4}});
    for (int i = 0; i < 40; ++i) x = b.add(i == 25 ? "erf" : i == 26 ? "softplus" : "tanh", {x});
    b.output("y", x);
    const auto model = frontends::export_onnx(b.finish().value(), {}, {});
    ASSERT_TRUE(base::write_file(path("m.onnx"), model->bytes).ok());
  }
  std::string reduce(const std::string& rest) {
    return "reduce " + path("m.onnx") + " -o " + path("small.onnx") + " " + rest;
  }
  std::string operators() {
    const ProgramRun run = run_program("inspect --json " + path("small.onnx"));
    EXPECT_EQ(run.code, 0) << run.err;
    return run.out;
  }
};

TEST_F(VerbReduce, FindsTheNodesThatACommandNeeds) {
  const ProgramRun run =
      run_program(reduce("--json --check 'grep -q Erf {} && grep -q Softplus {}'"));
  ASSERT_EQ(run.code, 0) << run.err;
  const base::Json json = base::Json::parse(run.out).value();
  EXPECT_EQ(json.find("nodes_before")->as_integer().value(), 40);
  EXPECT_EQ(json.find("nodes")->as_integer().value(), 2);
  EXPECT_EQ(json.find("stop_reason")->as_string().value(), "minimal");
  EXPECT_THAT(operators(), HasSubstr("\"erf\""));
}

TEST_F(VerbReduce, TheFileIsTheLastArgumentWithoutBraces) {
  const ProgramRun run = run_program(reduce("--check 'grep -q Erf'"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("-> 1 node"));
}

// A rule that is wrong: the result fails the output check with exit code 6.
TEST_F(VerbReduce, IsolatesAWrongRule) {
  ASSERT_TRUE(base::write_file(path("w.rules"), "rule drop-erf erf(?x) => ?x\n").ok());
  const ProgramRun run =
      run_program(reduce("--check '\"" EGRET_BINARY_DIR "/bin/egret\" optimize {} -o " +
                         path("o.onnx") + " --quick --quiet --threads 1 --allow untested --rules " +
                         path("w.rules") + "; test $? -eq 6'"));
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("-> 1 node"));
  EXPECT_THAT(operators(), HasSubstr("\"erf\""));
}

TEST_F(VerbReduce, RefusesWhatCannotWork) {
  EXPECT_EQ(run_program(reduce("")).code, 2);
  EXPECT_EQ(run_program("reduce " + path("m.onnx") + " --check true").code, 2);
  EXPECT_EQ(
      run_program("reduce " + path("m.onnx") + " -o " + path("m.onnx") + " --check true").code, 2);
  const ProgramRun run = run_program(reduce("--check false"));
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("the check fails for"));
  EXPECT_FALSE(std::filesystem::exists(path("small.onnx")));
}

TEST_F(VerbReduce, ASignalKeepsTheSmallestSoFar) {
  const base::Stopwatch watch;
  const ProgramRun run = run_program(reduce("--check 'grep -q Erf {} && sleep 0.4'"),
                                     "timeout --preserve-status -s INT 3");
  EXPECT_LT(watch.seconds(), 20);
  EXPECT_EQ(run.code, 130) << run.err;
  EXPECT_THAT(operators(), HasSubstr("\"erf\""));
}

TEST_F(VerbReduce, ASlowCheckCountsAsFailed) {
  const ProgramRun run = run_program(
      reduce("--check 'grep -q Softplus {} || sleep 100; grep -q Erf {}' --check-time 0.5 "
             "--limit-checks 12"));
  EXPECT_EQ(run.code, 5) << run.err;
  EXPECT_THAT(run.out, HasSubstr("too slow"));
  EXPECT_THAT(operators(), HasSubstr("\"softplus\""));
}

}  // namespace
}  // namespace egret::tools
