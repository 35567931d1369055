// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/mutation_trial.h"

#include "ir/graph/graph_text.h"
#include "rules/testing/instance_walk.h"

namespace egret::rules {
namespace {

// Translates a choice to another rule with the same sources.
Choice translated(const Choice& choice, const Rule& from, const Rule& to) {
  Choice result;
  result.variables = choice.variables;
  const std::vector<const Term*> old = source_applications(from);
  const std::vector<const Term*> fresh = source_applications(to);
  for (std::size_t i = 0; i < old.size(); ++i) {
    if (const auto found = choice.attrs.find(old[i]); found != choice.attrs.end())
      result.attrs.emplace(fresh[i], found->second);
  }
  return result;
}

}  // namespace

std::string_view to_string(MutantOutcome outcome) {
  switch (outcome) {
    case MutantOutcome::kRefuted: return "refuted";
    case MutantOutcome::kNoRule: return "no-rule";
    case MutantOutcome::kSame: return "same";
    case MutantOutcome::kTrue: return "true";
    case MutantOutcome::kUnrefuted: return "unrefuted";
    case MutantOutcome::kWrong: return "WRONG";
  }
  return "?";
}

MutantTrial::MutantTrial(const Rule& rule, KnownOperators& known, const MutantTrialOptions& options)
    : rule_(rule), known_(known), options_(options), instantiator_(rule, known) {
  const base::Random random(base::hash_combine(options.seed, content_hash(rule).low));
  const int attempts = options.original_instances * options.attempts_per_check * 3;
  for (int i = 0; i < attempts && std::ssize(originals_) < options.original_instances; ++i) {
    if (auto instance = instantiator_.attempt(random.split(static_cast<std::uint64_t>(i))))
      originals_.push_back(*std::move(instance));
  }
}

void MutantTrial::look_at(const Rule& mutant, const Instance& instance, base::Random random,
                          Findings& findings) {
  ++findings.instances;
  if (!findings.differs) {
    const auto original = instantiator_.of(translated(instance.choice, mutant, rule_), random);
    if (original && ir::to_text(original->right) == ir::to_text(instance.right)) return;
    findings.differs = true;
  }
  const Comparison comparison = compare(mutant, instance, random, known_);
  findings.refuted = comparison.outcome == Comparison::Outcome::kDifferent;
  findings.right_fails = comparison.right_fails;
}

MutantTrial::Findings MutantTrial::findings_of(const Rule& mutant) {
  Findings findings;
  Instantiator instantiator(mutant, known_);
  const base::Random random(base::hash_combine(options_.seed, content_hash(mutant).low));
  std::uint64_t stream = 0;
  for (const Instance& original : originals_) {
    const base::Random own = random.split(stream++);
    const auto instance = instantiator.of(translated(original.choice, rule_, mutant), own);
    if (instance) look_at(mutant, *instance, own.split(1), findings);
    if (findings.refuted) return findings;
  }
  const int wanted = findings.instances + options_.few_checks;
  const int attempts = options_.attempts_per_check * options_.few_checks;
  std::vector<Choice> starts;
  // If the first attempts give no instance, later ones rarely do.
  const int in_vain = options_.attempts_per_check * 20;
  for (int i = 0; i < attempts && findings.instances < wanted; ++i) {
    if (findings.instances == 0 && i == in_vain) break;
    const base::Random own = random.split(stream++);
    const auto instance = instantiator.attempt(own);
    if (!instance) continue;
    look_at(mutant, *instance, own.split(1), findings);
    if (findings.refuted) return findings;
    if (std::ssize(starts) < options_.walks) starts.push_back(instance->choice);
  }
  if (!findings.differs) return findings;
  for (Choice& start : starts) {
    InstanceWalk walk(instantiator, std::move(start));
    for (int i = 0; i < options_.steps_per_walk && !findings.refuted; ++i) {
      const base::Random own = random.split(stream++);
      if (const auto next = walk.step(own)) look_at(mutant, *next, own.split(1), findings);
    }
  }
  return findings;
}

bool MutantTrial::is_proven_blindly(const Rule& mutant, Verdict::Status& status) {
  VerifyOptions proving;
  proving.tensor_checks = 0;
  proving.instances = 60;
  proving.attempts_per_instance = 60;
  proving.most_families = 60;
  status = verify(mutant, proving, known_).status;
  return status == Verdict::Status::kProven;
}

TestReport MutantTrial::tested_often(const Rule& mutant) {
  TestOptions options;
  options.checks = options_.checks;
  options.attempts_per_check = options_.attempts_per_check;
  return test_rule(mutant, options, known_);
}

MutantOutcome MutantTrial::outcome(const Mutant& mutant, bool audit) {
  using Status = Verdict::Status;
  const Findings findings = findings_of(mutant.rule);
  Status status = Status::kUndecided;
  if (findings.refuted) {
    const bool wrong = audit && !findings.right_fails && is_proven_blindly(mutant.rule, status);
    return wrong ? MutantOutcome::kWrong : MutantOutcome::kRefuted;
  }
  if (findings.instances == 0) return MutantOutcome::kNoRule;
  if (!findings.differs) return MutantOutcome::kSame;
  const bool proven = is_proven_blindly(mutant.rule, status);
  if (status == Status::kVacuous || status == Status::kTrivial) return MutantOutcome::kNoRule;
  const TestReport tests = tested_often(mutant.rule);
  if (tests.verdict == TestReport::Verdict::kRefuted)
    return proven && !tests.right_fails ? MutantOutcome::kWrong : MutantOutcome::kRefuted;
  if (!proven) status = verify(mutant.rule, {}, known_).status;
  switch (status) {
    case Status::kProven: return MutantOutcome::kTrue;
    case Status::kRefuted: return MutantOutcome::kRefuted;
    case Status::kVacuous:
    case Status::kTrivial: return MutantOutcome::kNoRule;
    default: return MutantOutcome::kUnrefuted;
  }
}

}  // namespace egret::rules
