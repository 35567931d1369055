// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/verification.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/stop.h"
#include "ir/graph/graph_text.h"
#include "rules/proving/any_rank.h"
#include "rules/proving/family_proofs.h"
#include "rules/proving/instance_search.h"
#include "rules/proving/kind_cover.h"
#include "rules/proving/refutation.h"
#include "rules/testing/instance_stream.h"
#include "rules/testing/small_instances.h"
#include "rules/testing/tester.h"
#include "rules/traces/seen_numbers.h"
#include "verifier/solver/solver.h"

namespace egret::rules {
namespace {

using Status = Verdict::Status;

constexpr std::uint64_t kSmallStream = (std::uint64_t{1} << 40) + 1;  // far from attempts
constexpr std::uint64_t kSolvedStream = kSmallStream + 1;
constexpr std::uint64_t kRankStream = kSmallStream + 2;
constexpr int kProvenAxes = 2;
constexpr int kMostAxes = 4;
constexpr std::size_t kLeastGrowth = 3;  // of the effort, with each axis

bool is_trivial(const Instance& instance) {
  return ir::to_text(instance.left) == ir::to_text(instance.right);
}

class Verification {
 public:
  Verification(const Rule& rule, const VerifyOptions& options, KnownOperators& known,
               Sizes sizes = Sizes::kPositive)
      : rule_(rule),
        options_(options),
        instantiator_(rule, known, sizes),
        session_({.keep_queries = options.keep_queries,
                  .second_opinion = options.second_opinion,
                  .memory = options.memory,
                  .easy = options.easy}),
        solved_(instantiator_, random_.split(kSolvedStream), &session_),
        instances_(instantiator_, random_, &solved_),
        refutation_(rule, instantiator_, known, options.seed, options.tensor_checks > 0),
        families_(rule, options, instantiator_, refutation_, session_),
        kinds_(rule, options, instantiator_, refutation_, families_, session_) {}

  // First tests instances on tensors. Then proves families until enough instances are members of
  // them, and explores other paths and all small instances. `on_scalars`: a proof of the same rule
  // on tensors of rank 0 that holds at any rank.
  Verdict run(const Verdict* on_scalars = nullptr) {
    if (const auto ending = test_instances()) return verdict(*ending);
    if (on_scalars != nullptr && !tested_.empty()) return at_any_rank(*on_scalars);
    if (const auto ending = prove_instances()) return verdict(*ending);
    if (members_ == 0) return verdict(without_instances());
    if (const auto ending = prove_higher_ranks()) return verdict(*ending);
    // Small instances may be of further kinds.
    if (const auto ending = kinds_.explore(opened_, drawn_rank_)) return verdict(*ending);
    if (const auto ending = hold_small_ones()) return verdict(*ending);
    if (const auto ending = kinds_.explore(opened_, drawn_rank_)) return verdict(*ending);
    if (trivial_) return verdict({Status::kTrivial, "both sides are the same"});
    return verdict({Status::kProven, ""});
  }

  // An open number on which the rule decides something, but which has other values than those seen.
  // Empty if there is none.
  std::string open_number() const { return seen_.open_number(); }

  // Whether the operators of all instances that opened families are elementwise.
  bool is_elementwise() {
    ElementwiseCheck check;
    return std::ranges::all_of(opened_, [&](const Choice& choice) {
      const auto instance = instantiator_.of(choice, random_);
      return instance && check.holds(rule_, *instance);
    });
  }

 private:
  // Outputs without elements are no evidence, unless the rule is about tensors without elements.
  bool counts(const Instance& instance) const {
    if (instantiator_.sizes() == Sizes::kPositive) return has_elements(instance);
    return std::ranges::any_of(instance.choice.variables, [](const auto& variable) {
      return std::ranges::any_of(variable.second.dims, is_empty_size);
    });
  }

  std::optional<Ending> test_instances() {
    while (checks_ < options_.tensor_checks) {
      auto instance = next_instance();
      if (!instance) break;
      const base::Random elements =
          random_.split(instances_.attempts()).split(1 + instances_.walked());
      const Comparison comparison = refutation_.compare(*instance, elements);
      if (comparison.outcome == Comparison::Outcome::kDifferent)
        return refuted(refutation_.shrunk(*instance, comparison, elements));
      if (!counts(*instance)) continue;
      tested_.push_back(*std::move(instance));
      checks_ += comparison.outcome == Comparison::Outcome::kEqual ? 1 : 0;
    }
    return std::nullopt;
  }

  std::optional<Ending> prove_instances() {
    constexpr int kMore = 4;  // until each of few numbers was seen
    const auto needs_more = [&] {
      return members_ < options_.instances ||
             (members_ < kMore * options_.instances && seen_.are_few() && !open_number().empty());
    };
    while (needs_more()) {
      const auto instance = tested_or_next_instance();
      if (!instance) break;
      if (!counts(*instance)) continue;
      if (seen_.note(*instance)) with_new_numbers_.push_back(recorded(rule_, *instance));
      trivial_ = trivial_ && is_trivial(*instance);
      if (!families_.contain(*instance)) {
        if (auto ending = families_.prove(*instance)) return ending;
        opened_.push_back(instance->choice);
      }
      ++members_;
    }
    return std::nullopt;
  }

  // Instances of ranks that no random instance has, one rank after the other, until there are none
  // or one cannot be proven: the proof is then limited to lower ranks. Tensors of the highest ranks
  // are rarely drawn.
  std::optional<Ending> prove_higher_ranks() {
    constexpr std::uint64_t kAttempts = 100;
    constexpr int kInstances = 3;  // of different kinds, as a rule
    for (const Choice& choice : opened_) drawn_rank_ = std::max(drawn_rank_, rank_of(choice));
    for (int rank = drawn_rank_ + 1; rank <= options_.higher_ranks; ++rank) {
      const base::Random random =
          random_.split(kRankStream).split(static_cast<std::uint64_t>(rank));
      const std::size_t before = opened_.size();
      int found = 0;
      for (std::uint64_t i = 0; i < kAttempts && found < kInstances; ++i) {
        const auto instance = instantiator_.attempt(random.split(i), rank);
        if (!instance || !counts(*instance) || rank_of(instance->choice) != rank) continue;
        ++found;
        if (options_.tensor_checks > 0) {
          if (auto wrong = refutation_.on(*instance, random.split(kAttempts + i)))
            return refuted(*std::move(wrong));
        }
        if (families_.contain(*instance)) continue;
        if (auto ending = families_.prove_optional(*instance)) {
          if (ending->status == Status::kRefuted) return ending;
          opened_.resize(before);
          return std::nullopt;
        }
        opened_.push_back(instance->choice);
      }
      if (found == 0) break;
    }
    return std::nullopt;
  }

  // nullopt if the attempts for one instance are used up.
  std::optional<Instance> next_instance() {
    return instances_.next(
        static_cast<std::uint64_t>(options_.attempts_per_instance) *
        static_cast<std::uint64_t>(std::max(options_.instances, options_.tensor_checks)));
  }

  // Instances that passed the tensor tests come first.
  std::optional<Instance> tested_or_next_instance() {
    if (tested_.empty()) return next_instance();
    Instance instance = std::move(tested_.front());
    tested_.pop_front();
    return instance;
  }

  // Enumerates all small instances as far as the effort allows. With few axes, each is proven. With
  // more axes, each is only run on tensors: every broadcast pattern of several operands would be a
  // family of its own.
  std::optional<Ending> hold_small_ones() {
    const std::vector<Choice> examples = opened_;  // opened_ grows
    SmallInstances small(rule_, instantiator_, examples, options_.small_effort);
    const base::Random random = random_.split(kSmallStream);
    std::size_t last = 0;  // effort for one axis fewer
    for (int axes = 0; axes <= kMostAxes; ++axes) {
      const std::size_t left = small.effort_left();
      if (last * kLeastGrowth > left) return std::nullopt;
      const bool proven = axes <= kProvenAxes;
      if (!proven && options_.tensor_checks == 0) return std::nullopt;
      std::optional<Ending> ending;
      const bool all = small.visit_all(axes, [&](const Choice& next) {
        const auto instance = instantiator_.of(next, random_);
        if (!instance || !counts(*instance) || families_.contain(*instance)) return true;
        if (proven) {
          if (!families_.may_prove_more()) return false;  // `axes` says how far this got
          ending = families_.prove(*instance);
          if (!ending) opened_.push_back(next);
        } else if (auto found = refutation_.on(*instance, random)) {
          ending = refuted(*std::move(found));
        }
        return !ending;
      });
      if (ending) return ending;
      if (!all) return std::nullopt;
      axes_ = axes;
      last = left - small.effort_left();
    }
    return std::nullopt;
  }

  // A rule without instances is vacuous only if none can exist.
  Ending without_instances() {
    if (instances_.walked() > 0) return {Status::kVacuous, "no instance with elements was found"};
    InstanceSource::None none = solved_.none();
    excludes_instances_ = none.certain;
    return {none.certain ? Status::kVacuous : Status::kUndecided, std::move(none.reason)};
  }

  Verdict at_any_rank(const Verdict& on_scalars) const {
    Verdict verdict = on_scalars;
    verdict.any_rank = true;
    verdict.trace.on_scalars = true;
    verdict.axes = kMostAxes;
    verdict.members += static_cast<int>(tested_.size());
    for (std::string& proof : verdict.proofs)
      proof += "  at any rank, as both sides are elementwise\n";
    return verdict;
  }

  // A proof of which a family is only checked up to a bound makes the rule bounded.
  Verdict verdict(Ending ending) const {
    Verdict verdict;
    const std::string unproven = families_.report(verdict);
    if (ending.status == Status::kProven && verdict.bound > 0)
      ending = {Status::kBounded, unproven};
    if (session_.statistics().disagreed > 0) ending = {Status::kDisputed, session_.disagreement()};
    if (ending.status != Status::kBounded) verdict.bound = 0;
    verdict.status = ending.status;
    verdict.reason = std::move(ending.reason);
    verdict.checks = checks_;
    verdict.difference = std::move(ending.difference);
    verdict.members = members_;
    verdict.excludes_instances = excludes_instances_;
    verdict.axes = axes_;
    verdict.cover = kinds_.covered();
    verdict.trace = {
        .direct = families_.all_direct(), .families = families_.trace(), .kinds = kinds_.trace()};
    verdict.trace.families.insert(verdict.trace.families.end(), with_new_numbers_.begin(),
                                  with_new_numbers_.end());
    if (const std::string number = open_number(); !number.empty()) {
      verdict.cover.complete = 0;
      verdict.cover.open_ranks = verdict.cover.ranks;
      verdict.cover.open = "the rule decides something on " + number;
    }
    verdict.any_rank = verdict.status == Status::kProven && verdict.cover.open.empty() &&
                       kinds_.first_axes_are_batch() && is_free_of_ranks(rule_);
    verdict.solver = session_.statistics();
    verdict.queries = session_.queries();
    return verdict;
  }

  const Rule& rule_;
  const VerifyOptions& options_;
  base::Random random_{options_.seed};
  Instantiator instantiator_;
  verifier::SolverSession session_;
  InstanceSearch solved_;
  InstanceStream instances_;
  Refutation refutation_;
  FamilyProofs families_;
  KindCover kinds_;
  SeenNumbers seen_{rule_};
  std::vector<RecordedChoice> with_new_numbers_;
  std::deque<Instance> tested_;  // on tensors, not yet proven
  std::vector<Choice> opened_;   // of the instances that were in no family yet
  bool excludes_instances_ = false;
  bool trivial_ = true;  // both sides of all instances are the same graph
  int checks_ = 0;
  int members_ = 0;
  int drawn_rank_ = 0;  // the highest of a random instance
  int axes_ = -1;       // of which all small instances hold
};

// The verdict on the rule for tensors of rank 0, if it holds at any rank.
std::optional<Verdict> proof_on_scalars(const Rule& rule, const VerifyOptions& options,
                                        KnownOperators& known) {
  if (!options.scalars_first) return std::nullopt;
  const auto scalars = on_scalars(rule, known);
  if (!scalars) return std::nullopt;
  VerifyOptions alone = options;
  alone.lemmas = {};
  alone.bounded_members = 0;
  Verification verification(*scalars, alone, known);
  Verdict verdict = verification.run();
  if (verdict.status != Status::kProven || !verification.open_number().empty() ||
      !verification.is_elementwise())
    return std::nullopt;
  return verdict;
}

// The verdict on a rule whose conditions no sizes of at least 1 satisfy. `vacuous` says so, and
// stays if no sizes of 0 do either. Most instances have no elements, so there are more of them.
Verdict verdict_on_empty(const Rule& rule, const VerifyOptions& options, KnownOperators& known,
                         Verdict vacuous) {
  constexpr int kMore = 3;
  VerifyOptions more = options;
  more.instances *= kMore;
  more.tensor_checks *= kMore;
  more.most_families *= kMore;
  more.cover_families *= kMore;
  more.batch_axes = false;  // they are for sizes that may be 2
  Verdict verdict = Verification(rule, more, known, Sizes::kWithZero).run();
  if (verdict.members == 0 && verdict.status != Status::kRefuted) return vacuous;
  verdict.of_empty = true;
  return verdict;
}

}  // namespace

Verdict verify(const Rule& rule, const VerifyOptions& options, KnownOperators& known) {
  const auto scalars = proof_on_scalars(rule, options, known);
  Verdict verdict = Verification(rule, options, known).run(scalars ? &*scalars : nullptr);
  const bool equal = options.claim == VerifyOptions::Claim::kEqual;
  if (equal && verdict.excludes_instances && !base::stop_requested())
    verdict = verdict_on_empty(rule, options, known, std::move(verdict));
  if (base::stop_requested()) {
    verdict.status = Status::kUndecided;  // parts were not examined
    verdict.reason = "stopped";
    return verdict;
  }
  const bool open = verdict.status == Status::kUndecided || verdict.status == Status::kBounded;
  if (!open || options.tensor_checks == 0) return verdict;
  // A longer test on tensors: a rule that could not be proven may be wrong on rare instances.
  TestOptions testing;
  testing.attempts_per_check = options.attempts_per_instance;
  testing.checks = options.longer_search * options.tensor_checks;
  testing.seed = options.seed;
  TestReport again = test_rule(rule, testing, known);
  if (again.verdict == TestReport::Verdict::kRefuted) {
    verdict.status = Status::kRefuted;
    verdict.reason = std::move(again.counterexample);
    verdict.difference = std::move(again.difference);
  }
  if (again.verdict == TestReport::Verdict::kTested)
    verdict.checks = std::max(verdict.checks, again.checks);
  return verdict;
}

bool has_second_solver() { return verifier::make_cvc5() != nullptr; }

}  // namespace egret::rules
