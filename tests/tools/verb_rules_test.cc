// SPDX-License-Identifier: Apache-2.0
// `egret rules verify`: what it exits with; what `show` and `derive` print.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/formats/json.h"
#include "base/system/file.h"
#include "tests/tools/folder_test.h"

namespace egret::tools {
namespace {

using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class RulesVerify : public FolderTest {
 protected:
  ProgramRun verify(const std::string& rule) {
    EXPECT_TRUE(base::write_file(path("a.rules"), "rule a\n  " + rule + "\n").ok());
    return run_program("rules verify --instances 20 " + path("a.rules"));
  }
};

TEST_F(RulesVerify, SaysByItsExitCodeWhatItFound) {
  EXPECT_EQ(verify("relu(relu(?x)) => relu(?x)").code, 0);
  const ProgramRun wrong = verify("sub(?x, ?y) => sub(?y, ?x)");
  EXPECT_EQ(wrong.code, 20);
  EXPECT_THAT(wrong.out, HasSubstr("?x = "));  // with tensors
}

TEST_F(RulesVerify, TakesRulesThatSayNothingForMistakes) {
  const ProgramRun contradictory =
      verify("relu(relu(?x)) where rank(?x) == 2 and rank(?x) == 3 => relu(?x)");
  EXPECT_EQ(contradictory.code, 20);
  EXPECT_THAT(contradictory.out, HasSubstr("vacuous"));
  EXPECT_THAT(contradictory.out, HasSubstr("satisfy rank(?x) == 2 and rank(?x) == 3"));
  // The operator refuses the rank: no instance is found, but none is excluded.
  const ProgramRun refused = verify("matmul(?x, ?y) where rank(?x) == 1 => matmul(?y, ?x)");
  EXPECT_EQ(refused.code, 30);
  EXPECT_THAT(refused.out, HasSubstr("no operands were found that the sources accept where rank"));
  const ProgramRun trivial = verify("add(?x, ?y) => add(?x, ?y)");
  EXPECT_EQ(trivial.code, 20);
  EXPECT_THAT(trivial.out, HasSubstr("trivial"));
}

TEST_F(RulesVerify, DoesNotCallAProofUpToABoundAProof) {
  const ProgramRun bounded = verify(
      "max_pool{kernel=[?k], strides=[1], pads=[0, 0], dilations=[1], *}("
      "max_pool{kernel=[?l], strides=[1], pads=[0, 0], dilations=[1], *}(?x))"
      " where dim(out, 2) == dim(?x, 2) - ?k - ?l + 2 => "
      "max_pool{kernel=[?k + ?l - 1], strides=[1], pads=[0, 0], dilations=[1]}(?x)");
  EXPECT_EQ(bounded.code, 30);
  EXPECT_THAT(bounded.out, HasSubstr("bounded <= "));
}

TEST_F(RulesVerify, RefusesWhatIsNoRule) {
  const ProgramRun unbound = verify("relu(?x) => relu(?y)");
  EXPECT_EQ(unbound.code, 3);
  EXPECT_THAT(unbound.err, HasSubstr("a.rules:2"));
}

TEST(RulesShow, NamesEachFamilyOfAProofOnce) {
  for (const std::string rule : {"add-commutes", "relu-eye-1"}) {
    const ProgramRun run = run_program("rules show --proof --json " + rule);
    ASSERT_EQ(run.code, 0) << run.err;
    const auto json = base::Json::parse(run.out);
    std::set<std::string> seen;
    for (const base::Json& proof : json->find("rules")->items().at(0).find("proofs")->items())
      EXPECT_TRUE(seen.insert(*proof.as_string()).second) << *proof.as_string();
    EXPECT_FALSE(seen.empty()) << rule;
  }
  const ProgramRun text = run_program("rules show --proof add-commutes");
  EXPECT_THAT(text.out, HasSubstr("\nproven\nfamily (?a: f32 of rank "));
}

TEST_F(RulesVerify, DeriveSaysOnOneLineWhereTheSidesStayApart) {
  ASSERT_TRUE(base::write_file(path("a.rules"), "rule a\n  neg(neg(?x)) => ?x\n").ok());
  ASSERT_TRUE(base::write_file(path("b.rules"), "rule b\n  add(?x, ?y) => add(?y, ?x)\n").ok());
  const ProgramRun run = run_program("rules derive " + path("a.rules") + " " + path("b.rules"));
  EXPECT_EQ(run.code, 30) << run.err;
  EXPECT_THAT(run.out, ContainsRegex("the sides stay apart at [?]x: [a-z0-9]+\\[.*, [?]y: "));
}

TEST(RulesList, CountsOneRuleAsOne) {
  EXPECT_THAT(run_program("rules list add-commutes").out, EndsWith("\n1 rule\n"));
}

TEST_F(RulesVerify, NothingIsNotProven) {
  ASSERT_TRUE(base::write_file(path("none.rules"), "# no rule yet\n").ok());
  for (const char* verb : {"verify ", "test "}) {
    const ProgramRun run = run_program(std::string("rules ") + verb + path("none.rules"));
    EXPECT_EQ(run.code, 3) << run.out << run.err;
    EXPECT_THAT(run.err, HasSubstr("selects no rules"));
  }
}

}  // namespace
}  // namespace egret::tools
