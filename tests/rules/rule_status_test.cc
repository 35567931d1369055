// SPDX-License-Identifier: Apache-2.0
#include "rules/tensors/rule_status.h"

#include <gtest/gtest.h>

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

TEST_F(RuleStatusRecords, AProofThatFailsLeavesTheTests) {
  test(TestReport::Verdict::kTested);
  verify(Verdict::Status::kProven);
  verify(Verdict::Status::kUndecided);
  EXPECT_EQ(status(), "tested");
}

}  // namespace
}  // namespace egret::rules
