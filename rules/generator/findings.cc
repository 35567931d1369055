// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/findings.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

namespace egret::rules::generator {
namespace {

constexpr int kMostFailures = 2;  // of candidates of one shape

// The last number of each name "matmul-add-7" by "matmul-add".
std::map<std::string, int> last_numbers(const std::vector<Rule>& rules) {
  std::map<std::string, int> numbers;
  for (const Rule& rule : rules) {
    const std::size_t dash = rule.name.rfind('-');
    if (dash == std::string::npos) continue;
    const char* end = rule.name.data() + rule.name.size();
    int number = 0;
    if (std::from_chars(rule.name.data() + dash + 1, end, number).ptr != end) continue;
    int& last = numbers[rule.name.substr(0, dash)];
    last = std::max(last, number);
  }
  return numbers;
}

}  // namespace

Unresolved follows_from_unproven(const Candidate& candidate) {
  return {candidate, Verdict::Status::kUndecided, "",
          "follows from equalities that no rule came of"};
}

Findings::Findings(const TermTable& terms, const RuleSet& given)
    : terms_(terms), rules_(without_heuristics(given)), last_number_(last_numbers(rules_.rules)) {}

RuleSet Findings::with_unproven_rules() const {
  RuleSet all = rules_;
  all.rules.insert(all.rules.end(), unproven_rules_.begin(), unproven_rules_.end());
  return all;
}

const Findings::Failure* Findings::failed_often(const std::string& shape) const {
  const auto like = failures_.find(shape);
  return like != failures_.end() && like->second.times >= kMostFailures ? &like->second : nullptr;
}

void Findings::begin_level(std::size_t operators, std::size_t candidates) {
  result_.candidates.push_back({.operators = operators, .candidates = candidates});
}

void Findings::add_unresolved(Unresolved unresolved) {
  const Verdict::Status status = unresolved.status;
  ++(status == Verdict::Status::kRefuted ? level().refuted : level().undecided);
  unproven_.push_back(unresolved.candidate);
  result_.unproven.push_back({text_of(terms_, unresolved.candidate.equality),
                              std::move(unresolved.rule), std::string(to_string(status)),
                              std::move(unresolved.reason), result_.candidates.size() - 1});
}

void Findings::add_failure(const std::string& shape, Unresolved unresolved,
                           std::vector<Rule> in_world) {
  Failure& failure = failures_[shape];
  if (++failure.times == 1) failure.terms = text_of(terms_, unresolved.candidate.equality);
  failure.status = unresolved.status;
  add_unresolved(std::move(unresolved));
  std::ranges::move(in_world, std::back_inserter(unproven_rules_));
}

std::string Findings::add_rule(const Generalized& made, const std::string& back_of) {
  Rule rule = made.rule;
  rule.name = back_of.empty() ? next_name(rule) : back_of + "-reversed";
  rules_.rules.push_back(rule);
  result_.rules.push_back({rule, made.verdict, level().operators, back_of});
  return rule.name;
}

// The operators of the left side, from the outside in, and a number.
std::string Findings::next_name(const Rule& rule) {
  std::string name;
  for_each_subterm(rule.sources.front().term, [&](const Term& part) {
    if (part.kind == Term::Kind::kApply) name += (name.empty() ? "" : "-") + part.op->name();
  });
  std::ranges::replace(name, '_', '-');
  return name + "-" + std::to_string(++last_number_[name]);
}

void Findings::count_logged(const std::optional<Generalized>& made) {
  ++result_.from_log;
  if (made) level().cpu_seconds += made->cpu_seconds;
}

void Findings::add_time(double seconds, double cpu_seconds) {
  level().seconds += seconds;
  level().cpu_seconds += cpu_seconds;
}

void Findings::drop_unproven(const std::vector<bool>& derived) {
  std::vector<Unproven> left;
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < derived.size(); ++i) {
    Unproven& unproven = result_.unproven[i];
    if (!derived[i]) {
      left.push_back(std::move(unproven));
      candidates.push_back(unproven_[i]);
      continue;
    }
    CandidateCount& count = result_.candidates[unproven.level];
    --(unproven.status == "refuted" ? count.refuted : count.undecided);
    ++count.derived;
  }
  result_.unproven = std::move(left);
  unproven_ = std::move(candidates);
}

}  // namespace egret::rules::generator
