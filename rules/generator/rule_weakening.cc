// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/rule_weakening.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/stop.h"
#include "rules/generator/variable_splitting.h"

namespace egret::rules::generator {
namespace {

bool is_proven(const Verdict& verdict) { return verdict.status == Verdict::Status::kProven; }

class Weakening {
 public:
  Weakening(const CandidateScrutiny& scrutiny, KnownOperators& known)
      : scrutiny_(scrutiny), known_(known) {}

  Verdict run(Rule& rule, Verdict proven) {
    bool is_tested = false;
    while (true) {
      const std::vector<Rule> steps = screened_steps(rule, proven);
      const std::size_t right = count_right(steps);
      if (right == steps.size() && right > 0) {
        rule = steps.back();
        return of(steps.back());
      }
      if (right == 0 && !is_tested) {
        proven = tested(rule, std::move(proven));
        is_tested = true;
      }
      if (right == steps.size() || !is_proven(proven) || base::stop_requested()) return proven;
      wrong_.insert(to_string(steps[right]));
    }
  }

 private:
  // The rules that each step makes of the one before, as far as screening goes.
  std::vector<Rule> screened_steps(Rule rule, Verdict verdict) {
    std::vector<Rule> steps;
    const Judge judge = [&](const Rule& next) {
      Verdict of_next = screened(next);
      if (is_proven(of_next)) steps.push_back(next);
      return of_next;
    };
    for (std::size_t i = rule.conditions.size(); i-- > 0;) {
      Rule weaker = rule;
      weaker.conditions.erase(weaker.conditions.begin() + static_cast<std::ptrdiff_t>(i));
      if (is_proven(judge(weaker))) rule = std::move(weaker);
    }
    split_variables(rule, verdict, judge, known_);
    return steps;
  }

  // Up to which step rules are proven and pass tests; all, if the last one does.
  std::size_t count_right(const std::vector<Rule>& steps) {
    if (steps.empty() || is_proven(of(steps.back()))) return steps.size();
    std::size_t right = steps.size() - 1;
    while (right > 0 && !is_known_right(steps[right - 1])) --right;
    std::size_t wrong = steps.size();
    while (wrong - right > 1) {
      const std::size_t middle = right + (wrong - right) / 2;
      (is_proven(of(steps[middle - 1])) ? right : wrong) = middle;
    }
    return right;
  }
  bool is_known_right(const Rule& rule) const {
    const auto found = verdicts_.find(to_string(rule));
    return found != verdicts_.end() && is_proven(found->second);
  }

  // Each rule is screened, and verified and tested, once.
  Verdict screened(const Rule& rule) {
    const std::string text = to_string(rule);
    if (wrong_.contains(text)) return {};
    const auto [found, is_new] = screened_.try_emplace(text);
    if (is_new) found->second = screen_candidate(rule, scrutiny_.screening, known_);
    return found->second;
  }
  const Verdict& of(const Rule& rule) {
    const auto [found, is_new] = verdicts_.try_emplace(to_string(rule));
    if (is_new) found->second = tested(rule, prove_candidate(rule, scrutiny_, known_));
    return found->second;
  }
  Verdict tested(const Rule& rule, Verdict verdict) const {
    return is_proven(verdict) ? test_candidate(rule, std::move(verdict), scrutiny_.tests, known_)
                              : verdict;
  }

  const CandidateScrutiny& scrutiny_;
  KnownOperators& known_;
  std::set<std::string> wrong_;  // steps that screening lets pass
  std::map<std::string, Verdict> screened_;
  std::map<std::string, Verdict> verdicts_;
};

}  // namespace

Verdict weaken(Rule& rule, Verdict proven, const CandidateScrutiny& scrutiny,
               KnownOperators& known) {
  return Weakening(scrutiny, known).run(rule, std::move(proven));
}

}  // namespace egret::rules::generator
