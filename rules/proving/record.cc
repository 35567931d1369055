// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/record.h"

#include <utility>
#include <vector>

#include "base/system/file.h"

namespace egret::rules {
namespace {

// A rule counts as tested if it held on so many instances.
constexpr int kEnoughChecks = 1000;

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
  const RuleStatuses::Entry* entry = statuses.find(content_hash(rule));
  const std::int64_t known = entry != nullptr ? entry->checks : 0;
  const bool refuted = verdict.status == Verdict::Status::kRefuted;
  if (!refuted && verdict.checks >= kEnoughChecks && verdict.checks > known)
    statuses.record_tests(rule, RuleStatus::kTested, verdict.checks);
  statuses.record_proof(rule, status_of(verdict.status),
                        {.families = verdict.families,
                         .axes = verdict.axes,
                         .bound = verdict.bound,
                         .limit = limit_of(verdict),
                         .derived = verdict.derived > 0});
}

base::Result<StatusFiles> StatusFiles::open(const RuleSet& set) {
  StatusFiles all;
  for (const std::string& path : set.files) {
    EGRET_ASSIGN_OR_RETURN(RuleStatuses statuses, read_statuses(status_file_of(path)));
    EGRET_ASSIGN_OR_RETURN(std::vector<Rule> rules, load_rules(path));
    File& file = all.files_[path];
    for (const Rule& rule : rules) file.rules.insert(content_hash(rule));
    statuses.keep_only({std::move(rules), {}});
    file.statuses = std::move(statuses);
  }
  return all;
}

void StatusFiles::add(const Rule& rule, const Verdict& verdict) {
  const base::ContentHash hash = content_hash(rule);
  for (auto& [path, file] : files_) {
    if (!file.rules.contains(hash)) continue;
    record(file.statuses, rule, verdict);
    file.changed = true;
  }
}

base::Status StatusFiles::write() {
  for (auto& [path, file] : files_) {
    if (!file.changed) continue;
    EGRET_RETURN_IF_ERROR(base::write_file(status_file_of(path), file.statuses.to_json()));
    file.changed = false;
  }
  return base::ok();
}

}  // namespace egret::rules
