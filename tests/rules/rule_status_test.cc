// SPDX-License-Identifier: Apache-2.0
#include "rules/tensors/rule_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/core/symbolic_scope.h"
#include "rules/proving/record.h"
#include "tests/rules/parsed_rule.h"

namespace egret::rules {
namespace {

// What is recorded of one rule, in any order.
class RuleStatusRecords : public testing::Test {
 protected:
  void test(TestReport::Verdict verdict, int checks = 100) {
    TestReport report;
    report.verdict = verdict;
    report.checks = checks;
    record(statuses_, rule_, report);
  }
  void verify(Verdict::Status status) {
    Verdict verdict;
    verdict.status = status;
    record(statuses_, rule_, verdict);
  }
  std::string status() const { return std::string(to_string(statuses_.of(rule_))); }

  const Rule rule_ = parsed("relu(relu(?x)) => relu(?x)");
  RuleStatuses statuses_;
};

TEST_F(RuleStatusRecords, TestsLeaveAProofAsItIs) {
  verify(Verdict::Status::kProven);
  test(TestReport::Verdict::kTested);
  EXPECT_EQ(status(), "proven");
  EXPECT_EQ(statuses_.find(content_hash(rule_))->checks, 100);
}

TEST_F(RuleStatusRecords, ACounterexampleEndsAProof) {
  verify(Verdict::Status::kProven);
  test(TestReport::Verdict::kRefuted);
  EXPECT_EQ(status(), "refuted");
}

TEST_F(RuleStatusRecords, WithoutAProofTheLastTestsCount) {
  test(TestReport::Verdict::kTested);
  EXPECT_EQ(status(), "tested");
  test(TestReport::Verdict::kUntestable);
  EXPECT_EQ(status(), "untested");
  test(TestReport::Verdict::kTested);
  verify(Verdict::Status::kUndecided);
  EXPECT_EQ(status(), "tested");
}

TEST_F(RuleStatusRecords, ABoundIsKeptAndReadAgain) {
  test(TestReport::Verdict::kTested);
  Verdict verdict;
  verdict.status = Verdict::Status::kBounded;
  verdict.bound = 3;
  record(statuses_, rule_, verdict);
  EXPECT_EQ(status(), "bounded");
  const auto again = parse_statuses(statuses_.to_json());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->find(content_hash(rule_))->bound, 3);
  EXPECT_EQ(to_string(again->of(rule_)), "bounded");
  verify(Verdict::Status::kUndecided);
  EXPECT_EQ(status(), "tested");
}

// A composite's body may call operators that the rule does not name, and so may a lemma.
TEST_F(RuleStatusRecords, ProofsOfCompositesAndByLemmasRestOnAllOperators) {
  const auto rests_on = [](const Rule& rule, bool derived) {
    RuleStatuses statuses;
    statuses.record_proof(rule, RuleStatus::kProven, {.derived = derived});
    return statuses.find(content_hash(rule))->rests_on;
  };
  using testing::ElementsAre;
  const Rule composite = parsed("softmax{axis=0}(neg(?x)) => softmax{axis=0}(neg(?x))");
  ASSERT_TRUE(ir::find_operator("softmax")->is_composite());
  EXPECT_THAT(rests_on(rule_, false), ElementsAre("relu"));
  EXPECT_THAT(rests_on(rule_, true), ElementsAre("*"));
  EXPECT_THAT(rests_on(composite, false), ElementsAre("*"));
}

TEST_F(RuleStatusRecords, AnOperatorThatIsGoneVoidsProofs) {
  verify(Verdict::Status::kProven);
  std::string text = statuses_.to_json();
  for (std::size_t at = 0; (at = text.find("\"relu\"", at)) != std::string::npos;)
    text.replace(at, 6, "\"gone\"");
  const auto again = parse_statuses(text);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->of(rule_), RuleStatus::kUntested);
}

// `optimize` reads them while the open sizes of a model are symbols.
TEST_F(RuleStatusRecords, ProofsHoldWhereSizesAreOpen) {
  ir::SymbolicScope scope({}, [](const ir::Guard&) { return std::nullopt; });
  (void)scope.symbol("N", 7);
  EXPECT_THAT(builtin_statuses()->voided(), testing::IsEmpty());
}

TEST_F(RuleStatusRecords, ProofsWithoutDefinitionsAreVoid) {
  verify(Verdict::Status::kProven);
  std::string text = statuses_.to_json();
  const std::size_t from = text.find("\"definitions\"");
  text.erase(from, text.find("\"rules\"") - from);
  const auto again = parse_statuses(text);
  ASSERT_TRUE(again.ok()) << again.status().message() << text;
  EXPECT_EQ(again->of(rule_), RuleStatus::kUntested);
  EXPECT_THAT(again->voided(), testing::SizeIs(1));
}

TEST_F(RuleStatusRecords, MergedStatusesKeepTheMoreCertain) {
  const auto merged = [&](RuleStatus a, RuleStatus b) {
    RuleStatuses one;
    RuleStatuses other;
    for (const auto& [statuses, found] : {std::pair(&one, a), std::pair(&other, b)}) {
      if (found == RuleStatus::kTested) statuses->record_tests(rule_, found, 1000);
      if (found != RuleStatus::kTested) statuses->record_proof(rule_, found, {});
    }
    one.merge(other);
    return one.of(rule_);
  };
  EXPECT_EQ(merged(RuleStatus::kTested, RuleStatus::kProven), RuleStatus::kProven);
  EXPECT_EQ(merged(RuleStatus::kProven, RuleStatus::kTested), RuleStatus::kProven);
  EXPECT_EQ(merged(RuleStatus::kProven, RuleStatus::kRefuted), RuleStatus::kRefuted);
  EXPECT_EQ(merged(RuleStatus::kRefuted, RuleStatus::kProven), RuleStatus::kRefuted);
}

TEST_F(RuleStatusRecords, AProofThatFailsLeavesTheTests) {
  test(TestReport::Verdict::kTested);
  verify(Verdict::Status::kProven);
  verify(Verdict::Status::kUndecided);
  EXPECT_EQ(status(), "tested");
}

}  // namespace
}  // namespace egret::rules
