// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/member_search.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

namespace egret::rules {
namespace {

constexpr std::int64_t kMostSteps = 2'000'000;  // for all members
constexpr std::int64_t kStepsOfDraw = 20'000;   // for one

using Integers = MemberSearch::Integers;

}  // namespace

// The next symbol is the one that decides the most conditions (greedy), so branches fail early.
MemberSearch::MemberSearch(const Family& family) {
  std::vector<ir::Guard> open = family.conditions;
  Integers known;
  Integers rest = family.example;
  const auto decided_with = [&](const std::string& symbol) {
    Integers with = known;
    with[symbol] = rest.at(symbol);
    std::vector<ir::Guard> result;
    std::ranges::copy_if(open, std::back_inserter(result), [&](const ir::Guard& condition) {
      return ir::evaluate(condition, with).has_value();
    });
    return result;
  };
  std::map<std::string, std::size_t, std::less<>> place_of;
  while (!rest.empty()) {
    std::optional<std::pair<std::string, std::vector<ir::Guard>>> best;
    for (const auto& [symbol, value] : rest) {
      std::vector<ir::Guard> decided = decided_with(symbol);
      if (!best || decided.size() > best->second.size()) best = {symbol, std::move(decided)};
    }
    const auto& [symbol, decided] = *best;
    known[symbol] = rest.at(symbol);
    rest.erase(symbol);
    std::erase_if(open, [&](const ir::Guard& condition) {
      return ir::evaluate(condition, known).has_value();
    });
    place_of.emplace(symbol, steps_.size());
    Step& step = steps_.emplace_back(Step{symbol, ir::GuardProgram(decided), {}});
    for (const std::string& name : step.decided.symbols()) step.places.push_back(place_of.at(name));
  }
}

// Depth-first search through the assignments.
class MemberSearch::Walk {
 public:
  using Visit = base::FunctionRef<bool(const Integers&)>;  // false ends the walk

  // Values are tried in order from 0, or cyclically from a random value.
  Walk(std::span<const Step> order, std::int64_t bound, std::int64_t steps, base::Random* random,
       Visit visit)
      : order_(order),
        values_(bound + 1),
        left_(steps),
        random_(random),
        visit_(visit),
        at_(order.size()) {}

  // Returns true if the search was exhaustive.
  bool run() { return assign(0); }

 private:
  bool assign(std::size_t next) {
    if (next == order_.size()) return visit_(member());
    const Step& step = order_[next];
    const auto values = static_cast<std::uint64_t>(values_);
    const auto first = static_cast<std::int64_t>(random_ == nullptr ? 0 : random_->below(values));
    for (std::int64_t i = 0; i < values_; ++i) {
      if (left_-- == 0) return false;
      at_[next] = (first + i) % values_;
      if (holds(step) && !assign(next + 1)) return false;
    }
    return true;
  }
  bool holds(const Step& step) {
    numbers_.clear();
    for (const std::size_t place : step.places) numbers_.push_back(at_[place]);
    return step.decided.hold_for(numbers_, work_);
  }
  Integers member() const {
    Integers member;
    for (std::size_t i = 0; i < order_.size(); ++i) member.emplace(order_[i].symbol, at_[i]);
    return member;
  }

  std::span<const Step> order_;
  std::int64_t values_;
  std::int64_t left_;
  base::Random* random_;
  Visit visit_;
  std::vector<std::int64_t> at_;  // by step
  std::vector<std::int64_t> numbers_;
  std::vector<std::int64_t> work_;
};

std::optional<std::vector<Integers>> MemberSearch::up_to(std::int64_t bound,
                                                         std::int64_t most) const {
  std::vector<Integers> members;
  const auto keep = [&](const Integers& member) {
    members.push_back(member);
    return std::ssize(members) <= most;
  };
  if (!Walk(steps_, bound, kMostSteps, nullptr, keep).run()) return std::nullopt;
  return members;
}

std::optional<Integers> MemberSearch::draw_up_to(std::int64_t bound, base::Random random) const {
  std::optional<Integers> member;
  const auto keep = [&](const Integers& found) {
    member = found;
    return false;
  };
  Walk(steps_, bound, kStepsOfDraw, &random, keep).run();
  return member;
}

}  // namespace egret::rules
