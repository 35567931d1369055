// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/bounded_check.h"

#include <algorithm>
#include <optional>

#include "rules/proving/member_search.h"
#include "verifier/solver/solver_session.h"

namespace egret::rules {
namespace {

constexpr std::int64_t kLeastBound = 2;
constexpr std::int64_t kMostBound = 4;
constexpr std::int64_t kFew = 8;     // this part of `most`: so few that the next bound is tried
constexpr std::uint64_t kDraws = 8;  // of reals, for one member

using Integers = MemberSearch::Integers;

std::optional<Instance> instance_of(const Choice& choice, Instantiator& instantiator) {
  std::optional<Instance> instance;
  for (std::uint64_t draw = 0; draw < kDraws && !instance; ++draw)
    instance = instantiator.of(choice, base::Random(draw + 1));
  return instance;
}

// The reason why the sides of this member are not known to be equal, if there is one.
std::optional<std::string> problem_of(const Rule& rule, const Instance& instance,
                                      const Family& family, verifier::SolverSession& session) {
  const auto concrete = generalize(rule, instance, {.integers = false});
  if (!concrete.ok()) return concrete.status().message();
  if (!family.reals.empty() || !concrete->reals.empty()) return "real numbers are open in it";
  const verifier::Proof proof = concrete->obligation->prove_each_element({.session = &session});
  if (!proof.proven) return proof.reason + ", at " + instance.text;
  return std::nullopt;
}

}  // namespace

// Raises the bound while it has members and their number stays small.
BoundedCheck check_up_to_bound(const Rule& rule, const Instance& instance, const Family& family,
                               std::int64_t most, Instantiator& instantiator,
                               verifier::SolverSession& session) {
  const MemberSearch search(family);
  std::vector<Integers> members;
  BoundedCheck result;
  for (std::int64_t next = kLeastBound; next <= kMostBound; ++next) {
    auto found = search.up_to(next, members.empty() ? most : most / kFew);
    if (!found) break;
    members = *std::move(found);
    if (!members.empty()) result.bound = next;
  }
  if (result.bound == 0) result.reason = "no bound below which it has few members";
  for (const Integers& integers : members) {
    const Choice choice = with_integers(rule, instance.choice, integers);
    const std::optional<Instance> member = instance_of(choice, instantiator);
    if (!member && family.conditions.empty()) continue;  // what is no instance is no member
    if (!member) {
      result.reason = "a member of the family is no instance";
    } else if (!std::ranges::includes(numbers_of(rule, *member).integers, integers)) {
      result.reason = "an element that is a symbol cannot be chosen";
    } else if (auto problem = problem_of(rule, *member, family, session)) {
      result.reason = *std::move(problem);
    } else {
      ++result.members;
    }
    if (!result.reason.empty()) break;
  }
  if (!result.reason.empty() || result.members == 0) result.bound = 0;
  return result;
}

}  // namespace egret::rules
