// SPDX-License-Identifier: Apache-2.0
// What Coq is told of a rule, beside both sides: what the rule and the element types say of
// numbers.
#include "rules/proofs/rule_theorem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/proofs/rule_certificate_writer.h"
#include "rules/proving/verification.h"
#include "tests/rules/parsed_rule.h"

namespace egret::rules {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string theorem_of(std::string_view text) {
  static KnownOperators known;
  const Rule rule = parsed(text);
  const Verdict verdict = verify(rule, {.tensor_checks = 20, .instances = 400}, known);
  EXPECT_EQ(to_string(verdict.status), "proven") << verdict.reason;
  const auto certificate = certify(rule, verdict, known);
  EXPECT_TRUE(certificate.ok()) << certificate.status().message();
  const auto made = rule_theorem(*certificate, known);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return made->text;
}

// The name of the only unknown number.
constexpr const char* kUnknown = "u_r1";

TEST(RuleTheorem, StatesWhatTheRuleAsksOfItsNumbers) {
  const std::string text = theorem_of(
      "relu(mul(?x, ?c)) where is_splat(?c) and splat_of(?c) > 0 and same_type(out, ?x) and "
      "is_float(?x) => mul(relu(?x), ?c)");
  EXPECT_THAT(text, HasSubstr(std::string(" : 0 < ") + kUnknown + ".\n"));
}

TEST(RuleTheorem, StatesTheRangeOfTruthValuesAndUnsignedIntegers) {
  EXPECT_THAT(theorem_of("not(not(?x)) => ?x"), HasSubstr(" : t_x = 0 \\/ t_x = 1.\n"));
  EXPECT_THAT(theorem_of("max(?x, neg(?x)) => abs(?x)"), HasSubstr(" : 0 <= t_x.\n"));
  // Where no sign matters, families of all element types have one statement.
  EXPECT_THAT(theorem_of("mul(neg(?a), neg(?b)) => mul(?a, ?b)"), Not(HasSubstr("0 <= t_")));
}

TEST(RuleTheorem, HasTheFunctionsThatCoqDefines) {
  EXPECT_THAT(theorem_of("tanh(neg(?x)) => neg(tanh(?x))"), HasSubstr("(tanh l1)"));
  const std::string root =
      theorem_of("pow(?x, 0.5) where same_type(out, ?x) and is_float(?x) => sqrt(?x)");
  EXPECT_THAT(root, HasSubstr("(power t_x l1)"));
  EXPECT_THAT(root, HasSubstr(" : 0 <= t_x.\n"));  // the left side is defined
  const std::string reciprocal =
      theorem_of("pow(?x, -1) where same_type(out, ?x) and is_float(?x) => reciprocal(?x)");
  EXPECT_THAT(reciprocal, HasSubstr(" : t_x <> 0.\n"));
}

}  // namespace
}  // namespace egret::rules
