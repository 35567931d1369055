// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/generation.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/stop.h"
#include "base/system/thread_pool.h"
#include "rules/generator/application.h"
#include "rules/generator/candidate.h"
#include "rules/generator/candidate_derivation.h"
#include "rules/generator/candidate_rounds.h"
#include "rules/generator/drafting/multi_output.h"
#include "rules/generator/findings.h"
#include "rules/generator/logged_prover.h"
#include "rules/generator/minimization.h"
#include "rules/generator/proof_queue.h"

namespace egret::rules::generator {

using base::stop_requested;

namespace {

// f(x, y) = f(y, x) of each symmetric choice. The table of terms identifies the two sides, so the
// enumeration does not find them.
std::vector<Candidate> exchanges(TermTable& terms) {
  std::vector<Candidate> found;
  for (std::size_t choice = 0; choice < terms.space().choices.size(); ++choice) {
    for (std::size_t a = 0; a < terms.space().starts.size(); ++a) {
      const TypeId type = terms.type_of_start(a);
      const auto& alike = terms.starts_of(type);
      if (alike.front() != a || alike.size() < 2) continue;
      if (!terms.is_symmetric(choice, type, type)) continue;
      const TermId there[] = {alike[0], alike[1]};
      const TermId back[] = {alike[1], alike[0]};
      found.push_back(candidate_of(
          terms, {*terms.apply_as_given(choice, there), *terms.apply_as_given(choice, back)}));
    }
  }
  return found;
}

// The candidates of a level, sorted, which are taken out of `pending`. Terms that share parts are
// written with more operators than they have in the enumeration. They are instances of larger terms
// that do not share, so they wait until those are decided, as do candidates with particular
// tensors. The last level takes all.
std::vector<Candidate> candidates_of_level(std::vector<Candidate>& pending, std::size_t operators,
                                           bool is_last) {
  std::ranges::stable_sort(pending, comes_first);
  std::vector<Candidate> now;
  std::vector<Candidate> later;
  for (const Candidate& c : pending) {
    const bool is_due = is_last || (c.operators <= operators && !c.has_constant);
    (is_due ? now : later).push_back(c);
  }
  pending = std::move(later);
  return now;
}

struct Enumerated {
  std::vector<LevelCount> levels;
  std::string limit;  // that ended the enumeration early; empty: none
};

// Enumerates terms level by level and decides the candidates of each level before the next.
base::Result<Enumerated> enumerate_and_decide(const GenerationOptions& options,
                                              const Deciding& deciding, Findings& findings) {
  Enumeration enumeration(deciding.terms, options.enumeration);
  std::vector<Candidate> pending;
  std::string limit;
  std::size_t taken = 0;  // of the enumeration's equalities
  std::size_t most = options.enumeration.most_operators;
  for (std::size_t operators = 1; operators <= most && !stop_requested(); ++operators) {
    if (const base::Status status = enumeration.next_level(); !status.ok()) {
      // The equalities found before the limit hold, so they are decided.
      if (status.code() != base::StatusCode::kLimit) return status;
      limit = status.message();
      most = operators;
    }
    if (stop_requested()) break;
    if (options.count_only) continue;
    if (operators == 1) pending = exchanges(deciding.terms);
    const std::vector<Equality>& all = enumeration.equalities();
    for (; taken < all.size(); ++taken) pending.push_back(candidate_of(deciding.terms, all[taken]));
    decide_level(deciding, candidates_of_level(pending, operators, operators == most), operators,
                 findings);
  }
  return Enumerated{enumeration.counts(), std::move(limit)};
}

// The rules that the others, and those given, do not derive.
std::vector<GeneratedRule> minimal(std::vector<GeneratedRule> generated,
                                   const GenerationOptions& options, KnownOperators& known) {
  std::vector<Rule> rules;
  for (const GeneratedRule& one : generated) rules.push_back(one.rule);
  MinimizationOptions minimization;
  minimization.derivation = options.derivation;
  minimization.score = options.score;
  minimization.uses = options.uses;
  minimization.progress = options.enumeration.progress;
  const std::vector<bool> kept = minimize(rules, options.given, minimization, known);
  std::vector<GeneratedRule> left;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i]) left.push_back(std::move(generated[i]));
  }
  return left;
}

void count_kept(Generation& generation) {
  for (CandidateCount& level : generation.candidates) {
    level.kept = static_cast<std::uint64_t>(
        std::ranges::count_if(generation.rules, [&](const GeneratedRule& rule) {
          return rule.operators == level.operators && rule.back_of.empty();
        }));
  }
}

// Of rules of concatenations, the proven rules whose outputs are the concatenated parts.
std::vector<GeneratedRule> rules_of_parts(const std::vector<GeneratedRule>& rules,
                                          const VerifyOptions& verification,
                                          KnownOperators& known) {
  std::vector<GeneratedRule> found;
  for (const GeneratedRule& generated : rules) {
    if (stop_requested()) return {};
    std::optional<Rule> rule = two_output_rule(generated.rule);
    if (!rule) continue;
    Verdict verdict = verify(*rule, verification, known);
    if (verdict.status != Verdict::Status::kProven) continue;
    found.push_back({*std::move(rule), std::move(verdict), generated.operators, "parts"});
  }
  return found;
}

}  // namespace

base::Result<Generation> generate(const Space& space, const GenerationOptions& options) {
  // What proofs share.
  KnownOperators known;
  verifier::EasyAnswers answers;
  CandidateScrutiny scrutiny = options.scrutiny;
  scrutiny.screening.easy = &answers;
  scrutiny.verification.easy = &answers;
  EGRET_ASSIGN_OR_RETURN(const std::unique_ptr<TermTable> terms, TermTable::create(space));
  EGRET_ASSIGN_OR_RETURN(DecisionLog log,
                         DecisionLog::open(options.log, decision_key(space, scrutiny)));
  LoggedProver prover(*terms, scrutiny, known, std::move(log));
  ProofQueue proofs(base::shared_pool().threads(),
                    [&](const Equality& equality) { return prover.prove(equality); });

  const Deciding deciding{*terms, options.derivation, prover, proofs, options.enumeration.progress};
  Findings findings(*terms, options.given);
  EGRET_ASSIGN_OR_RETURN(Enumerated enumerated, enumerate_and_decide(options, deciding, findings));
  // Rules found later may derive a candidate that could not be proven.
  if (!stop_requested())
    findings.drop_unproven(derived_together(*terms, findings.rules(),
                                            equalities(findings.unproven()), options.derivation));

  Generation generation = findings.take();
  generation.levels = std::move(enumerated.levels);
  generation.limit = std::move(enumerated.limit);
  if (options.minimize && !stop_requested())
    generation.rules = minimal(std::move(generation.rules), options, known);
  count_kept(generation);
  EGRET_RETURN_IF_ERROR(prover.status());
  std::vector<GeneratedRule> parts = rules_of_parts(generation.rules, scrutiny.verification, known);
  generation.two_outputs = parts.size();
  std::ranges::move(parts, std::back_inserter(generation.rules));
  base::shared_pool().parallel_for(generation.rules.size(), 1, [&](std::size_t i, std::size_t) {
    Rule& rule = generation.rules[i].rule;
    rule = with_worth(std::move(rule), known);
  });
  generation.stopped = stop_requested();
  if (!generation.stopped && !options.keep_log) prover.remove_log();
  return generation;
}

}  // namespace egret::rules::generator
