// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/candidate_rounds.h"

#include <algorithm>
#include <ctime>
#include <iterator>
#include <utility>

#include "base/stop.h"
#include "base/timer.h"
#include "rules/generator/candidate_derivation.h"
#include "rules/generator/candidate_waves.h"

namespace egret::rules::generator {

using base::stop_requested;

namespace {

constexpr std::size_t kRound = 32;
constexpr std::size_t kCandidatesToARule = 1000;

constexpr base::ProgressColumn kRules{"rules", "rules", base::ProgressColumn::Unit::kCount,
                                      "rules proven so far"};

// How much was known when the candidates of a level were last compared with it.
struct Compared {
  std::size_t rules = 0;
  std::size_t unproven = 0;
};

std::vector<Candidate> without(const std::vector<Candidate>& candidates,
                               const std::vector<bool>& dropped) {
  std::vector<Candidate> left;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!dropped[i]) left.push_back(candidates[i]);
  }
  return left;
}

// The candidates that follow neither from rules nor from unproven equalities. A comparison of all
// costs more than some proofs, so it waits until one new rule is known for each thousand
// candidates; until then each candidate is compared by itself, before it is proven (choose_wave).
std::vector<Candidate> without_consequences(const Deciding& deciding,
                                            std::vector<Candidate> candidates, Compared& compared,
                                            Findings& findings) {
  const auto is_worth = [&](std::size_t now, std::size_t before) {
    const std::size_t few = compared.rules == 0 ? 0 : candidates.size() / kCandidatesToARule;
    return now - before > few;
  };
  if (is_worth(findings.rules().rules.size(), compared.rules)) {
    const std::vector<bool> derived = derived_together(deciding.terms, findings.rules(),
                                                       equalities(candidates), deciding.derivation);
    findings.add_derived(static_cast<std::size_t>(std::ranges::count(derived, true)));
    candidates = without(candidates, derived);
    compared.rules = findings.rules().rules.size();
  }
  if (is_worth(findings.unproven_rules().size(), compared.unproven)) {
    const std::vector<bool> follows =
        derived_together(deciding.terms, findings.with_unproven_rules(), equalities(candidates),
                         deciding.derivation);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (follows[i]) findings.add_unresolved(follows_from_unproven(candidates[i]));
    }
    candidates = without(candidates, follows);
    compared.unproven = findings.unproven_rules().size();
  }
  return candidates;
}

// A rule of the candidate, or of both its directions, or a failure.
void record(const Deciding& deciding, const Job& job, const BothWays& proofs, Findings& findings) {
  const auto& [made, back] = proofs;
  const std::optional<Generalized>& first = proofs.proven();
  if (is_proven(first)) {
    findings.count_proven(*first);
    const std::string name = findings.add_rule(*first, "");
    // Generalized, both directions may be the same rule.
    if (is_proven(made) && is_proven(back) && content_hash(made->rule) != content_hash(back->rule))
      findings.add_rule(*back, name);
    return;
  }
  if (!made) {
    findings.add_failure(job.shape,
                         {job.candidate, Verdict::Status::kUndecided, "", "cannot be stated"}, {});
    return;
  }
  // An equality between unrelated tensors is true, although no rule can be stated: others may
  // follow from it.
  findings.add_failure(
      job.shape, {job.candidate, made->verdict.status, to_string(made->rule), made->verdict.reason},
      rules_in_first_world(deciding.terms, job.candidate.equality));
}

void record_wave(const Deciding& deciding, const Wave& wave, const std::vector<BothWays>& proofs,
                 Findings& findings) {
  if (stop_requested()) return;  // a proof may have been cut short
  for (std::size_t i = 0; i < wave.jobs.size(); ++i) {
    const Equality& equality = wave.jobs[i].candidate.equality;
    const auto remember = [&](const Equality& of, const std::optional<Generalized>& made) {
      if (deciding.prover.record(of, made)) findings.count_logged(made);
    };
    remember(equality, proofs[i].made);
    if (proofs[i].back) remember(turned(equality), proofs[i].back);
    // Rules found since the wave was chosen may derive it.
    if (findings.rules_found() != wave.rules_found &&
        derived_singly(deciding.terms, findings.rules(), {&equality, 1}, deciding.derivation)
            .front()) {
      findings.add_derived(1);
    } else {
      record(deciding, wave.jobs[i], proofs[i], findings);
    }
  }
  deciding.prover.save();
}

void report(const base::Progress& progress, const Findings& findings) {
  const CandidateCount& level = findings.level();
  const std::uint64_t done =
      level.derived + level.proven + level.conditional + level.refuted + level.undecided;
  progress.report({{base::kItems, done}, {kRules, findings.rules_found()}},
                  static_cast<double>(done) / static_cast<double>(level.candidates));
}

// `further` are the candidates after the round.
void decide_round(const Deciding& deciding, std::vector<Candidate> round,
                  std::span<const Candidate> further, Findings& findings,
                  const base::Progress& progress) {
  Foresight foresight(deciding.terms, findings, deciding.derivation, deciding.proofs);
  Wave under_way;
  // A pipeline of two waves: while one is being proven, the next is chosen and begun, and idle
  // workers prove candidates that will probably come. Results are recorded wave by wave in a fixed
  // order, so they do not depend on the number of threads.
  while ((!round.empty() || !under_way.jobs.empty()) && !stop_requested()) {
    WaveChoice choice =
        choose_wave(deciding.terms, findings, deciding.derivation, round, under_way.jobs);
    round = std::move(choice.later);
    findings.add_derived(choice.derived);
    for (Unresolved& unresolved : choice.unresolved) findings.add_unresolved(std::move(unresolved));
    Wave next = std::move(choice.wave);
    if (!next.jobs.empty()) deciding.proofs.begin(equalities(next.jobs));
    const auto ahead = [&] {
      return foresight.foresee({under_way.jobs, next.jobs}, {round, further});
    };
    if (!under_way.jobs.empty())
      record_wave(deciding, under_way, deciding.proofs.finish(ahead), findings);
    under_way = std::move(next);
    if (progress.due()) report(progress, findings);
  }
  if (!under_way.jobs.empty()) deciding.proofs.finish();
}

void decide_in_rounds(const Deciding& deciding, std::vector<Candidate> candidates,
                      Findings& findings, const base::Progress& progress) {
  Compared compared;
  while (!candidates.empty() && !stop_requested()) {
    candidates = without_consequences(deciding, std::move(candidates), compared, findings);
    const std::size_t count = std::min(kRound, candidates.size());
    const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(count);
    std::vector<Candidate> round(candidates.begin(), end);
    candidates.erase(candidates.begin(), end);
    decide_round(deciding, std::move(round), candidates, findings, progress);
  }
}

}  // namespace

void decide_level(const Deciding& deciding, std::vector<Candidate> candidates,
                  std::size_t operators, Findings& findings) {
  const base::Stopwatch watch;
  const std::clock_t start = std::clock();
  const base::Progress progress(deciding.progress,
                                "decide " + std::to_string(operators) + " operators");
  findings.begin_level(operators, candidates.size());
  // Candidates with particular tensors are last: in the terms at hand they would derive general
  // ones, so they are decided once those are.
  const auto constants = std::ranges::find_if(candidates, &Candidate::has_constant);
  std::vector<Candidate> last(constants, candidates.end());
  candidates.erase(constants, candidates.end());
  decide_in_rounds(deciding, std::move(candidates), findings, progress);
  decide_in_rounds(deciding, std::move(last), findings, progress);
  findings.add_time(watch.seconds(), static_cast<double>(std::clock() - start) /
                                         static_cast<double>(CLOCKS_PER_SEC));
}

}  // namespace egret::rules::generator
