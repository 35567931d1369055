// SPDX-License-Identifier: Apache-2.0
#include "rules/proofs/proof_replay.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "rules/proving/any_rank.h"
#include "rules/proving/cover.h"
#include "rules/proving/proven_families.h"
#include "rules/testing/instantiation.h"
#include "rules/traces/seen_numbers.h"

namespace egret::rules {
namespace {

using base::Result;
using base::Status;

constexpr std::int64_t kMostImagined = std::int64_t{1} << 40;  // elements of a tensor not run

class Replay {
 public:
  Replay(const Rule& rule, bool of_empty, verifier::SolverSession& session, KnownOperators& known)
      : rule_(rule),
        of_empty_(of_empty),
        session_(session),
        instantiator_(rule, known, of_empty ? Sizes::kWithZero : Sizes::kPositive),
        seen_(rule),
        notes_(rule) {}

  Status prove_families(const ProofTrace& trace) {
    for (std::size_t i = 0; i < trace.families.size(); ++i)
      EGRET_RETURN_IF_ERROR(
          prove_family(trace.families[i], trace.on_scalars).at("family " + std::to_string(i)));
    return base::ok();
  }

  Status cover_kinds(const ProofTrace& trace) {
    for (std::size_t i = 0; i < trace.kinds.size(); ++i)
      EGRET_RETURN_IF_ERROR(cover(trace.kinds[i]).at("kind " + std::to_string(i)));
    return base::ok();
  }

  ProvenClaim claim() const {
    const Covered& covered = notes_.covered();
    ProvenClaim claim{.families = families_,
                      .kinds = covered.kinds,
                      .complete = covered.complete,
                      .rank = covered.rank,
                      .of_empty = of_empty_,
                      .open_ranks = covered.open_ranks,
                      .open = covered.open};
    if (const std::string number = seen_.open_number(); !number.empty()) {
      claim.complete = 0;
      claim.open_ranks = covered.ranks;
      claim.open = "the rule decides something on " + number;
    }
    claim.any_rank = claim.open.empty() && notes_.first_axes_are_batch() && is_free_of_ranks(rule_);
    return claim;
  }
  std::string open_number() const { return seen_.open_number(); }

 private:
  std::optional<Instance> instance_of(const RecordedChoice& choice) {
    const auto made = choice_of(rule_, choice);
    if (!made || !is_imaginable(*made)) return std::nullopt;
    return instantiator_.of(*made, choice.splats, kMostImagined);
  }
  static bool is_imaginable(const Choice& choice) {
    return std::ranges::all_of(choice.variables, [](const auto& variable) {
      const auto elements = ir::element_count(variable.second.shape());
      return elements && *elements <= kMostImagined;
    });
  }

  Status prove_family(const RecordedChoice& choice, bool on_scalars) {
    const auto instance = instance_of(choice);
    if (!instance) return base::mismatch("this is no instance of the rule");
    seen_.note(*instance);
    if (on_scalars && !elementwise_.holds(rule_, *instance))
      return base::mismatch("an operator is not elementwise");
    if (proven_.contain(numbers_of(rule_, *instance))) return base::ok();
    const Result<Family> family = generalize(rule_, *instance);
    if (!family.ok()) return base::mismatch(family.status().message());
    const auto [proof, independent] = prove_equal(rule_, *instance, *family, session_);
    if (!proof.proven) return base::mismatch(proof.reason);
    if (!independent) return base::mismatch("a number is computed from a real attribute");
    proven_.add(*family);
    ++families_;
    return base::ok();
  }

  Status cover(const ProofTrace::Kind& kind) {
    const auto like = instance_of(kind.like);
    if (!like) return base::mismatch("its example is no instance of the rule");
    if (!explored_.insert(numbers_of(rule_, *like).structure).second)
      return base::mismatch("it was covered before");
    BatchSizes batch;
    if (!of_empty_) batch = batch_sizes(rule_, *like, instantiator_);
    for (const std::size_t exception : kind.exceptions) {
      if (exception >= batch.groups.size()) return base::mismatch("there is no such batch axis");
      batch = batch.without(exception);
    }
    Cover paths(rule_, *like, batch, session_, {});  // without a search, limits have no effect
    std::string open;
    for (const ir::SymbolValues& numbers : kind.runs) {
      EGRET_ASSIGN_OR_RETURN(const std::optional<Choice> choice, paths.run(numbers));
      if (paths.exception()) return base::mismatch("sizes along a batch axis matter");
      if (choice) note_member(*choice, kind.like.splats, open);
    }
    if (kind.complete) {
      paths.close();
    } else if (open.empty()) {
      open = "more paths than followed";
    }
    notes_.add(like->choice, batch, paths.tree().leaves(), open.empty() ? paths.open() : open);
    return base::ok();
  }

  // Why an instance is in no proven family, if it is not.
  void note_member(const Choice& choice, const std::map<int, double>& splats, std::string& open) {
    std::optional<Instance> instance;
    if (is_imaginable(choice)) instance = instantiator_.of(choice, splats, kMostImagined);
    if (!instance) {
      open = "numbers that fit but cannot be instantiated";
    } else if (!proven_.contain(numbers_of(rule_, *instance))) {
      open = "a path has no proven family";
    }
  }

  const Rule& rule_;
  const bool of_empty_;
  verifier::SolverSession& session_;
  Instantiator instantiator_;
  ProvenFamilies proven_;
  SeenNumbers seen_;
  KindNotes notes_;
  ElementwiseCheck elementwise_;
  std::set<std::string> explored_;
  int families_ = 0;
};

}  // namespace

bool ProvenClaim::same(const ProvenClaim& other) const {
  return families == other.families && kinds == other.kinds && complete == other.complete &&
         rank == other.rank && any_rank == other.any_rank && of_empty == other.of_empty &&
         open_ranks == other.open_ranks;
}

Result<ProvenClaim> replay_proof(const Rule& rule, const ProofTrace& trace, bool of_empty,
                                 verifier::SolverSession& session, KnownOperators& known) {
  if (!trace.direct) return base::mismatch("a family has no proof of its own");
  if (trace.families.empty()) return base::mismatch("no family is proven");
  std::optional<Rule> scalars;
  if (trace.on_scalars) {
    scalars = on_scalars(rule, known);
    if (!scalars) return base::mismatch("the rule is not one of all ranks");
  }
  Replay replay(scalars ? *scalars : rule, of_empty, session, known);
  EGRET_RETURN_IF_ERROR(replay.prove_families(trace));
  EGRET_RETURN_IF_ERROR(replay.cover_kinds(trace));
  ProvenClaim claim = replay.claim();
  if (scalars) {
    if (!replay.open_number().empty())
      return base::mismatch("the rule decides something on " + replay.open_number());
    claim.any_rank = true;
  }
  return claim;
}

}  // namespace egret::rules
