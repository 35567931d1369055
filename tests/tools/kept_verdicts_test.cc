// SPDX-License-Identifier: Apache-2.0
// `egret rules verify FILE --write` and the verbs that run the rules of FILE.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/system/file.h"
#include "frontends/onnx.h"
#include "ir/graph/builder.h"
#include "tests/tools/folder_test.h"

namespace egret::tools {
namespace {

using ::testing::HasSubstr;

class KeptVerdicts : public FolderTest {
 protected:
  void SetUp() override {
    ir::GraphBuilder b;
    const ir::Value x = b.input("x", {ir::DType::kF32, {4, 4}});
    b.output("y", b.add("relu", {b.add("relu", {b.add("relu", {x})})}));
    const auto model = frontends::export_onnx(b.finish().value(), {}, {});
    ASSERT_TRUE(base::write_file(path("m.onnx"), model->bytes).ok());
    write_rules("rule once relu(relu(relu(?x))) => relu(?x)\n");
  }
  void write_rules(const std::string& text) {
    ASSERT_TRUE(base::write_file(path("mine.rules"), text).ok());
  }
  ProgramRun verify() { return run_program("rules verify --write " + path("mine.rules")); }
  ProgramRun run_rules(const std::string& selection) {
    return run_program("egraph stats " + path("m.onnx") + " --rules " + selection);
  }
};

TEST_F(KeptVerdicts, LetProvenRulesRun) {
  EXPECT_EQ(run_rules(path("mine.rules")).code, 2);
  const ProgramRun verified = verify();
  ASSERT_EQ(verified.code, 0) << verified.err;
  EXPECT_TRUE(std::filesystem::exists(path("mine.rules.status.json")));
  for (const std::string& selection : {path("mine.rules"), folder(), folder() + "/"}) {
    const ProgramRun run = run_rules(selection);
    EXPECT_EQ(run.code, 0) << selection << ": " << run.err;
    EXPECT_THAT(run.out, HasSubstr("once")) << selection;
  }
  EXPECT_EQ(run_rules("starter," + path("mine.rules")).code, 0);
  EXPECT_THAT(run_program("rules list " + path("mine.rules")).out, HasSubstr("proven"));
}

TEST_F(KeptVerdicts, AreVoidOnceTheRuleChanges) {
  ASSERT_EQ(verify().code, 0);
  write_rules("rule once relu(relu(relu(?x))) => ?x\n");
  const ProgramRun run = run_rules(path("mine.rules"));
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("once (untested)"));
}

TEST_F(KeptVerdicts, SayThatARuleIsRefuted) {
  write_rules("rule once relu(relu(relu(?x))) => relu(?x)\nrule wrong relu(?x) => ?x\n");
  EXPECT_EQ(verify().code, 20);
  const ProgramRun run = run_rules(path("mine.rules"));
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("wrong (refuted)"));
  EXPECT_EQ(run_rules(path("mine.rules") + ",-wrong").code, 0);
}

// A rule that is verified alone leaves the verdicts of the others.
TEST_F(KeptVerdicts, OfOtherRulesStand) {
  ASSERT_EQ(verify().code, 0);
  write_rules(
      "rule once relu(relu(relu(?x))) => relu(?x)\nrule twice neg(neg(?x)) where is_float(?x) => "
      "?x\n");
  EXPECT_EQ(run_program("rules verify --write " + path("mine.rules") + ",+twice").code, 0);
  EXPECT_EQ(run_rules(path("mine.rules")).code, 0);
}

// Verdicts are kept by the hash of the rule. They count under the name that a set gives it.
TEST_F(KeptVerdicts, CountForARuleWhoseNameIsTaken) {
  const std::string more = path("more.rules");
  ASSERT_TRUE(base::write_file(more, "rule once relu(relu(relu(relu(?x)))) => relu(?x)\n").ok());
  const std::string both = path("mine.rules") + "," + more;
  EXPECT_THAT(run_rules(both).err, HasSubstr("once (untested), more/once (untested)"));
  const ProgramRun verified = run_program("rules verify -v --write " + both);
  ASSERT_EQ(verified.code, 0) << verified.err;
  EXPECT_THAT(verified.out, HasSubstr("more/once"));
  EXPECT_THAT(verified.err, HasSubstr("is called more/once"));
  EXPECT_EQ(run_rules(both).code, 0);
  EXPECT_EQ(run_rules(more).code, 0);
  EXPECT_EQ(run_rules(both + ",-more/once").code, 0);
}

TEST_F(KeptVerdicts, AreWrittenBesideEachFileThatHasTheRule) {
  const std::string more = path("more.rules");
  ASSERT_TRUE(base::write_file(more, "rule once relu(relu(relu(?y))) => relu(?y)\n").ok());
  const std::string both = path("mine.rules") + "," + more;
  ASSERT_EQ(run_program("rules verify --write " + both).code, 0);
  EXPECT_EQ(run_rules(both).code, 0);
  EXPECT_EQ(run_rules(more).code, 0);
  EXPECT_THAT(run_program("rules list " + both).out, HasSubstr("1 rule"));
}

TEST_F(KeptVerdicts, NeedARuleFile) {
  const ProgramRun run = run_program("rules verify --write relu-of-relu");
  EXPECT_EQ(run.code, 2) << run.out;
  EXPECT_THAT(run.err, HasSubstr("selects no rule file"));
}

TEST_F(KeptVerdicts, OfGeneratedRulesAreRead) {
  const ProgramRun generated =
      run_program("rules generate --ops relu,neg,add --max-ops 2 -o " + folder() + "/found");
  ASSERT_EQ(generated.code, 0) << generated.err;
  const ProgramRun run = run_rules(folder() + "/found");
  EXPECT_EQ(run.code, 0) << run.err;
}

// Of a limit that the user did not set, the stop reason tells.
TEST_F(KeptVerdicts, LimitsAreFailuresOnlyWhereTheUserSetThem) {
  const std::string stats = "egraph stats " + path("m.onnx") + " --rules default";
  EXPECT_EQ(run_program(stats).code, 0);
  EXPECT_EQ(run_program(stats + " --limit-nodes 1").code, 5);
  EXPECT_EQ(run_program(stats, "EGRET_LIMIT_NODES=1").code, 5);
  // Another limit than the one that was set.
  EXPECT_EQ(run_program(stats + " --limit-time 100s").code, 0);
}

}  // namespace
}  // namespace egret::tools
