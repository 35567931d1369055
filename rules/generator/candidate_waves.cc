// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/candidate_waves.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>

#include "base/stop.h"
#include "rules/generator/candidate_derivation.h"
#include "rules/generator/candidate_rule.h"
#include "rules/generator/rule_in_world.h"

namespace egret::rules::generator {
namespace {

constexpr std::size_t kMostJobs = 4;              // of a wave
constexpr std::size_t kLookedAt = 3 * kMostJobs;  // candidates of a round, for a wave
constexpr std::size_t kMostForeseen = 8;          // at a time
constexpr std::size_t kLookedAtToForesee = 64;

enum class Standing : std::uint8_t {
  kOpen,
  kDerived,              // by the rules that are known
  kFollowsFromUnproven,  // in the first world
};

std::vector<Standing> standings(TermTable& terms, const Findings& findings,
                                const DerivationOptions& derivation,
                                std::span<const Equality> equalities) {
  std::vector<Standing> all(equalities.size(), Standing::kOpen);
  const std::vector<bool> derived = derived_singly(terms, findings.rules(), equalities, derivation);
  std::vector<Equality> open;
  std::vector<std::size_t> places;  // of the open ones
  for (std::size_t i = 0; i < equalities.size(); ++i) {
    if (derived[i]) {
      all[i] = Standing::kDerived;
    } else {
      open.push_back(equalities[i]);
      places.push_back(i);
    }
  }
  if (findings.unproven_rules().empty()) return all;
  const std::vector<bool> follows =
      derived_singly(terms, findings.with_unproven_rules(), open, derivation);
  for (std::size_t i = 0; i < follows.size(); ++i) {
    if (follows[i]) all[places[i]] = Standing::kFollowsFromUnproven;
  }
  return all;
}

void append(std::vector<Rule>& rules, std::vector<Rule> more) {
  std::ranges::move(more, std::back_inserter(rules));
}

bool has_like(std::span<const Job> jobs, const std::string& operators) {
  return std::ranges::find(jobs, operators, &Job::operators) != jobs.end();
}

}  // namespace

std::vector<Equality> equalities(std::span<const Job> jobs) {
  std::vector<Equality> all;
  for (const Job& job : jobs) all.push_back(job.candidate.equality);
  return all;
}

WaveChoice choose_wave(TermTable& terms, const Findings& findings,
                       const DerivationOptions& derivation, std::span<const Candidate> round,
                       std::span<const Job> under_way) {
  const auto first = round.first(std::min(kLookedAt, round.size()));
  const std::vector<Standing> standing = standings(terms, findings, derivation, equalities(first));
  // What would be known if all proofs under way succeeded.
  RuleSet at_hand = findings.with_unproven_rules();
  for (const Job& job : under_way)
    append(at_hand.rules, rules_in_first_world(terms, job.candidate.equality));

  WaveChoice choice;
  std::vector<Job>& jobs = choice.wave.jobs;
  choice.wave.rules_found = findings.rules_found();
  // Candidates of one wave should not derive each other, otherwise a proof would be wasted. A
  // candidate with the operators of a job, or one that would follow from jobs under way, waits for
  // a later wave.
  for (std::size_t i = 0; i < first.size(); ++i) {
    const Candidate& candidate = first[i];
    if (standing[i] == Standing::kDerived) {
      ++choice.derived;
      continue;
    }
    if (standing[i] == Standing::kFollowsFromUnproven) {
      choice.unresolved.push_back(follows_from_unproven(candidate));
      continue;
    }
    std::string shape = shape_of(terms, candidate.equality);
    if (const auto* like = findings.failed_often(shape); like != nullptr) {
      choice.unresolved.push_back({candidate, like->status, "", "as " + like->terms});
      continue;
    }
    std::string operators = operators_of(terms, candidate.equality);
    if (jobs.size() == kMostJobs || has_like(jobs, operators) || has_like(under_way, operators)) {
      choice.later.push_back(candidate);
      continue;
    }
    // The first of all was already compared with what is known.
    const bool alone = jobs.empty() && under_way.empty();
    const ir::Graph sides = sides_in_world(terms, {&candidate.equality, 1}, 0);
    if (!alone && derives(at_hand, sides, derivation)) {
      choice.later.push_back(candidate);
      continue;
    }
    jobs.push_back({candidate, std::move(shape), std::move(operators)});
    append(at_hand.rules, rules_in_world(sides));
  }
  const auto rest = round.subspan(first.size());
  choice.later.insert(choice.later.end(), rest.begin(), rest.end());
  return choice;
}

std::vector<Equality> Foresight::foresee(std::initializer_list<std::span<const Job>> under_way,
                                         std::initializer_list<std::span<const Candidate>> after) {
  RuleSet at_hand = findings_.with_unproven_rules();
  std::set<std::string> operators;
  for (const std::span<const Job> jobs : under_way) {
    for (const Job& job : jobs) {
      append(at_hand.rules, rules_in_first_world(terms_, job.candidate.equality));
      operators.insert(job.operators);
    }
  }
  std::vector<Equality> found;
  std::size_t looked_at = 0;
  for (const std::span<const Candidate> candidates : after) {
    for (const Candidate& candidate : candidates) {
      if (found.size() == kMostForeseen || looked_at++ == kLookedAtToForesee ||
          base::stop_requested())
        return found;
      const Equality& equality = candidate.equality;
      const bool begun = proofs_.foreseen(equality) == ProofQueue::Foreseen::kBegun;
      if (!begun && findings_.failed_often(shape_of(terms_, equality)) != nullptr) continue;
      if (!operators.insert(operators_of(terms_, equality)).second) continue;
      if (!begun) {
        if (!is_open(equality, at_hand)) continue;
        found.push_back(equality);
      }
      append(at_hand.rules, rules_in_first_world(terms_, equality));
    }
  }
  return found;
}

bool Foresight::is_open(const Equality& equality, const RuleSet& at_hand) {
  const auto [open, is_new] = open_.try_emplace({equality.left, equality.right}, false);
  if (is_new)
    open->second = !derives(at_hand, sides_in_world(terms_, {&equality, 1}, 0), derivation_);
  return open->second;
}

}  // namespace egret::rules::generator
