// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/record.h"

namespace egret::rules {
namespace {

RuleStatus status_of(TestReport::Verdict verdict) {
  if (verdict == TestReport::Verdict::kRefuted) return RuleStatus::kRefuted;
  return verdict == TestReport::Verdict::kTested ? RuleStatus::kTested : RuleStatus::kUntested;
}

RuleStatus status_of(Verdict::Status verdict) {
  switch (verdict) {
    case Verdict::Status::kRefuted: return RuleStatus::kRefuted;
    case Verdict::Status::kProven: return RuleStatus::kProven;
    case Verdict::Status::kBounded: return RuleStatus::kBounded;
    default: return RuleStatus::kUntested;
  }
}

}  // namespace

RuleLimit limit_of(const Verdict& verdict) {
  if (verdict.status != Verdict::Status::kProven) return {};
  if (verdict.any_rank) return {.of_empty = verdict.of_empty};
  const auto& open = verdict.cover.open_ranks;
  return {verdict.cover.rank, {open.begin(), open.end()}, verdict.of_empty};
}

void record(RuleStatuses& statuses, const Rule& rule, const TestReport& report) {
  statuses.record_tests(rule, status_of(report.verdict), report.checks);
}

void record(RuleStatuses& statuses, const Rule& rule, const Verdict& verdict) {
  statuses.record_proof(rule, status_of(verdict.status),
                        {.families = verdict.families,
                         .axes = verdict.axes,
                         .bound = verdict.bound,
                         .limit = limit_of(verdict)});
}

}  // namespace egret::rules
