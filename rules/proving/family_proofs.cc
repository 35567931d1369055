// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/family_proofs.h"

#include <algorithm>

#include "base/stop.h"
#include "rules/language/real_expressions.h"
#include "rules/proving/bounded_check.h"
#include "rules/proving/rewriting_proof.h"
#include "rules/testing/element_types.h"

namespace egret::rules {
namespace {

constexpr std::int64_t kMostImagined = std::int64_t{1} << 40;  // elements of a tensor not run

Ending undecided(std::string reason) { return {Verdict::Status::kUndecided, std::move(reason)}; }

}  // namespace

FamilyProofs::FamilyProofs(const Rule& rule, const VerifyOptions& options,
                           Instantiator& instantiator, const Refutation& refutation,
                           verifier::SolverSession& session)
    : rule_(rule),
      options_(options),
      instantiator_(instantiator),
      refutation_(refutation),
      session_(session) {}

bool FamilyProofs::contain(const Instance& instance) const {
  return proven_.contain(numbers_of(rule_, instance));
}

bool FamilyProofs::may_prove_more() const {
  constexpr int kOfOneInstance = 30;  // with other integers
  return families_ + kOfOneInstance < options_.most_families &&
         session_.statistics().queries < options_.most_queries;
}

std::optional<Ending> FamilyProofs::prove(const Instance& instance) {
  return prove(instance, options_.bounded_members);
}

std::optional<Ending> FamilyProofs::prove_optional(const Instance& instance) {
  const std::size_t texts = texts_.size();
  auto ending = prove(instance, 0);
  if (ending) texts_.resize(texts);
  return ending;
}

std::optional<Ending> FamilyProofs::prove(const Instance& instance, std::int64_t most_members) {
  auto ending = prove_one(instance, most_members);
  if (ending || options_.claim == VerifyOptions::Claim::kDifferent) return ending;
  return prove_other_integers(instance, most_members);
}

std::optional<Ending> FamilyProofs::prove_other_integers(const Instance& instance,
                                                         std::int64_t most_members) {
  for (const Choice& choice : with_other_integers(instance.choice)) {
    const auto other = instantiator_.of(choice, base::Random(options_.seed), kMostImagined);
    if (!other || contain(*other)) continue;
    if (auto ending = prove_one(*other, most_members)) return ending;
  }
  return std::nullopt;
}

std::optional<Ending> FamilyProofs::prove_one(const Instance& instance, std::int64_t most_members) {
  if (base::stop_requested()) return undecided("stopped");
  if (families_ == options_.most_families) return undecided("more families than tried");
  if (session_.statistics().queries >= options_.most_queries)
    return undecided("more questions to the solver than tried");
  ++families_;
  base::Result<Family> family = generalize(rule_, instance);
  if (!family.ok()) return prove_unconditional(instance, most_members, family.status().message());
  const auto [proof, independent] = prove(instance, *family);
  if (!independent) return undecided("a number is computed from a real attribute");
  keep_proof(*family, proof.lines);
  if (!proof.proven) {
    if (auto found = refutation_.around(instance, *family)) return refuted(*std::move(found));
    if (!derive(instance, *family)) {
      if (auto ending = check_up_to_bound_of(instance, *family, most_members, proof.reason))
        return ending;
    }
  }
  proven_.add(*family);
  trace_.push_back(recorded(rule_, instance));
  return std::nullopt;
}

// For an instance that cannot be generalized.
std::optional<Ending> FamilyProofs::prove_unconditional(const Instance& instance,
                                                        std::int64_t most_members,
                                                        const std::string& reason) {
  const Family all = unconditional_family(rule_, instance);
  texts_.emplace_back("instances of all numbers\n");
  if (auto found = refutation_.around(instance, all)) return refuted(*std::move(found));
  if (auto ending = check_up_to_bound_of(instance, all, most_members, reason)) return ending;
  proven_.add(all);
  return std::nullopt;
}

FamilyProof FamilyProofs::prove(const Instance& instance, const Family& family) const {
  if (options_.claim == VerifyOptions::Claim::kEqual)
    return prove_equal(rule_, instance, family, session_);
  const verifier::ProofOptions how{.example = family.example, .session = &session_};
  FamilyProof made{.proof = family.obligation->prove_different(family.conditions, how)};
  if (!made.proof.proven || family.reals.empty()) return made;
  const base::Result<Family> other = generalize(rule_, instance, {.salt = 1});
  made.independent =
      other.ok() && same_conditions(family, *other) &&
      other->obligation->prove_different(other->conditions, how).lines == made.proof.lines;
  return made;
}

void FamilyProofs::keep_proof(const Family& family, const std::vector<std::string>& lines) {
  std::string text = "family (" + family.variables + ")\n";
  for (const ir::Guard& condition : family.conditions)
    text += "  where  " + ir::to_string(condition) + "\n";
  for (const std::string& line : lines) text += "  " + line + "\n";
  texts_.push_back(std::move(text));
}

// Whether lemmas rewrite both sides of the whole family to the same graph. The decisions of the
// rewritings must follow from the family's conditions, and every graph on the way must be defined
// where the left side is. Families with open reals are excluded,
// because lemmas might test the stand-ins.
bool FamilyProofs::derive(const Instance& instance, const Family& family) {
  if (options_.lemmas.empty() || !family.reals.empty()) return false;
  const auto concrete = generalize(rule_, instance, {.integers = false});
  if (!concrete.ok()) return false;
  const auto found = find_rewritings(concrete->sides[0], concrete->sides[1], lemmas());
  if (!found) return false;
  const base::Result<Family> derived = generalize(rule_, instance, {.rewritings = &*found});
  const verifier::ProofOptions how{.example = family.example, .session = &session_};
  if (!derived.ok() || !family.obligation->implies(family.conditions, derived->conditions, how))
    return false;
  std::vector<std::string> lines = found->lines();
  std::vector<std::shared_ptr<verifier::Obligation>> graphs = derived->on_the_way;
  if (!found->right.empty()) graphs.push_back(family.obligation);
  for (const auto& graph : graphs) {
    const verifier::Proof defined = graph->prove_defined(family.conditions, how);
    if (!defined.proven) return false;
    lines.insert(lines.end(), defined.lines.begin(), defined.lines.end());
  }
  texts_.pop_back();
  keep_proof(family, lines);
  ++derived_;
  return true;
}

// Rules other than this one. Unless this rule holds up to rounding, rules that do are excluded.
const std::vector<Lemma>& FamilyProofs::lemmas() {
  if (!lemmas_) {
    lemmas_.emplace();
    const base::ContentHash own = content_hash(rule_);
    for (const Lemma& lemma : options_.lemmas) {
      const bool exact = rule_.has_tag(kRounding) || !lemma.rule.has_tag(kRounding);
      if (exact && !(content_hash(lemma.rule) == own)) lemmas_->push_back(lemma);
    }
  }
  return *lemmas_;
}

std::optional<Ending> FamilyProofs::check_up_to_bound_of(const Instance& instance,
                                                         const Family& family,
                                                         std::int64_t most_members,
                                                         const std::string& reason) {
  const std::int64_t most =
      std::min(most_members, options_.bounded_members_in_all - bounded_members_);
  if (most <= 0) return undecided(reason);
  const BoundedCheck check =
      check_up_to_bound(rule_, instance, family, most, instantiator_, session_);
  if (check.bound == 0) return undecided(reason + "; member by member: " + check.reason);
  bounded_members_ += check.members;
  if (unproven_.empty()) unproven_ = reason;
  bound_ = bound_ == 0 ? check.bound : std::min(bound_, check.bound);
  texts_.back() += "  not proven for all sizes: " + reason + "\n  all " +
                   std::to_string(check.members) + " members with numbers up to " +
                   std::to_string(check.bound) + " hold\n";
  return std::nullopt;
}

std::string FamilyProofs::report(Verdict& verdict) const {
  verdict.families = families_;
  verdict.derived = derived_;
  verdict.bound = bound_;
  verdict.proofs = texts_;
  return unproven_;
}

}  // namespace egret::rules
