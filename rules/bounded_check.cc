// SPDX-License-Identifier: Apache-2.0
#include "rules/bounded_check.h"

#include <algorithm>
#include <optional>

#include "verifier/solver_session.h"

namespace egret::rules {
namespace {

constexpr std::int64_t kLeastBound = 2;
constexpr std::int64_t kMostBound = 4;
constexpr std::int64_t kFew = 8;  // this part of `most`: so few that the next bound is tried
constexpr std::int64_t kMostSteps = 2'000'000;  // of one search for members
constexpr std::uint64_t kDraws = 8;             // of reals, for one member

using Integers = std::map<std::string, std::int64_t, std::less<>>;

// The members of a family up to a bound.
class MemberSearch {
 public:
  explicit MemberSearch(const Family& family) : open_(family.conditions) {
    for (const auto& [name, value] : family.example) rest_[name] = value;
    while (!rest_.empty()) order_one();
  }

  // Nullopt when there are more than `most`, or the search is too long.
  std::optional<std::vector<Integers>> up_to(std::int64_t bound, std::int64_t most) {
    members_.clear();
    steps_ = 0;
    Integers at;
    if (!assign(0, at, bound, most)) return std::nullopt;
    return std::move(members_);
  }

 private:
  struct Step {
    std::string symbol;
    std::vector<ir::Guard> decided;  // conditions that have all their symbols from here on
  };

  std::vector<ir::Guard> decided_with(const std::string& symbol) const {
    Integers with = known_;
    with[symbol] = rest_.at(symbol);
    std::vector<ir::Guard> result;
    for (const ir::Guard& condition : open_) {
      if (ir::evaluate(condition, with)) result.push_back(condition);
    }
    return result;
  }

  // The symbol that decides the most conditions is next.
  void order_one() {
    std::optional<Step> best;
    for (const auto& [symbol, value] : rest_) {
      std::vector<ir::Guard> decided = decided_with(symbol);
      if (!best || decided.size() > best->decided.size()) best = {symbol, std::move(decided)};
    }
    known_[best->symbol] = rest_.at(best->symbol);
    rest_.erase(best->symbol);
    std::erase_if(open_, [&](ir::Guard condition) {
      return ir::evaluate(condition, known_) != std::nullopt;
    });
    steps_in_order_.push_back(*std::move(best));
  }

  bool assign(std::size_t next, Integers& at, std::int64_t bound, std::int64_t most) {
    if (next == steps_in_order_.size()) {
      members_.push_back(at);
      return static_cast<std::int64_t>(members_.size()) <= most;
    }
    const Step& step = steps_in_order_[next];
    for (std::int64_t value = 0; value <= bound; ++value) {
      if (++steps_ > kMostSteps) return false;
      at[step.symbol] = value;
      const bool possible = std::ranges::all_of(step.decided, [&](ir::Guard condition) {
        return ir::evaluate(condition, at) == std::optional(true);
      });
      if (possible && !assign(next + 1, at, bound, most)) return false;
    }
    at.erase(step.symbol);
    return true;
  }

  std::vector<ir::Guard> open_;
  Integers rest_, known_;  // symbols with their values in the example
  std::vector<Step> steps_in_order_;
  std::vector<Integers> members_;
  std::int64_t steps_ = 0;
};

std::optional<Instance> instance_of(const Choice& choice, Instantiator& instantiator) {
  std::optional<Instance> instance;
  for (std::uint64_t draw = 0; draw < kDraws && !instance; ++draw)
    instance = instantiator.of(choice, base::Random(draw + 1));
  return instance;
}

// Why it is not known that the sides are equal, if so.
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

BoundedCheck check_up_to_bound(const Rule& rule, const Instance& instance, const Family& family,
                               std::int64_t most, Instantiator& instantiator,
                               verifier::SolverSession& session) {
  MemberSearch search(family);
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
