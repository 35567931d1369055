// SPDX-License-Identifier: Apache-2.0
#include "verifier/index/size_prover.h"

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "ir/core/plain_sign.h"
#include "ir/graph/open_sizes.h"
#include "verifier/index/guard_query.h"

namespace egret::verifier {
namespace {

constexpr unsigned kWork = 500'000;  // of the solver, a query
constexpr std::uint64_t kSamples = 12;

ir::SymbolNames symbols_of(const std::vector<ir::Guard>& guards) {
  std::vector<const ir::ExprNode*> roots;
  for (const ir::Guard& guard : guards) {
    if (!guard.is_constant()) roots.push_back(guard.node());
  }
  return ir::symbols_of(std::move(roots));
}

// That something is at least 0, where its form tells it: quotients within quotients are what the
// solver takes longest for.
bool is_plain(const ir::ExprNode& guard) {
  return guard.op == ir::ExprOp::kIndexLe && guard.kids[0]->op == ir::ExprOp::kIndexConst &&
         guard.kids[0]->integer <= 0 && ir::is_plainly_nonnegative(*guard.kids[1]);
}

// Small numbers, powers of two, primes, and any others.
std::int64_t draw(const SizeRange& range, std::uint64_t sample, base::Random& random) {
  static constexpr std::int64_t kUsual[] = {1, 2, 3, 7, 8, 16, 64, 101, 128, 224, 512, 1000};
  const std::int64_t usual = kUsual[random.below(std::size(kUsual))];
  const std::int64_t any = sample % 2 == 0 ? usual : random.between(1, 4096);
  return std::clamp(any, range.least, range.most);
}

}  // namespace

void SizeProver::assume(ir::Guard guard) {
  if (guard.is_true() || holds(guard) == std::optional(true)) return;
  if (!guard.is_constant() && !meter_.is_short(guard.node())) return;
  assumptions_.push_back(guard);
  known_.clear();
}

std::optional<bool> SizeProver::holds(ir::Guard guard) {
  if (guard.is_constant()) return guard.is_true();
  const auto [found, is_new] = known_.try_emplace(guard.node());
  if (!is_new) return found->second;
  if (!meter_.is_short(guard.node())) return std::nullopt;
  if (is_plain(*guard.node())) {
    found->second = true;
    return true;
  }
  bool can_hold = false;
  bool can_fail = false;
  for (const ir::SymbolValues& values : samples(guard)) {
    const auto truth = ir::evaluate(guard, values);
    can_hold = can_hold || truth == std::optional(true);
    can_fail = can_fail || truth == std::optional(false);
  }
  std::optional<bool> answer;
  if (!can_fail && is_contradictory(!guard)) {
    answer = true;
  } else if (!can_hold && is_contradictory(guard)) {
    answer = false;
  }
  known_[guard.node()] = answer;
  return answer;
}

std::vector<ir::SymbolValues> SizeProver::samples(ir::Guard guard) const {
  std::vector<ir::Guard> all = assumptions_;
  all.push_back(guard);
  const auto symbols = symbols_of(all);
  base::Random random(1);
  std::vector<ir::SymbolValues> result;
  for (std::uint64_t sample = 0; sample < kSamples; ++sample) {
    ir::SymbolValues values;
    for (const std::string& symbol : symbols) {
      const auto range = ranges_.find(symbol);
      values[symbol] = draw(range != ranges_.end() ? range->second : SizeRange(), sample, random);
    }
    if (meets(values)) result.push_back(std::move(values));
  }
  return result;
}

bool SizeProver::meets(const ir::SymbolValues& values) const {
  return std::ranges::all_of(assumptions_, [&](const ir::Guard& assumption) {
    return ir::evaluate(assumption, values).value_or(false);
  });
}

// Follows equations: a symbol alone on one side takes the value of the other. Later symbols of the
// order give way to earlier ones.
ir::SymbolValues SizeProver::propagated(ir::SymbolValues values,
                                        const std::vector<std::string>& order) const {
  constexpr int kRounds = 16;
  const auto rank_of = [&](const ir::ExprNode* side) {
    if (side->op != ir::ExprOp::kSymbol) return std::ptrdiff_t{-1};
    const auto found = std::ranges::find(order, side->name);
    return found != order.end() ? found - order.begin() : std::ptrdiff_t{-1};
  };
  for (int round = 0; round < kRounds; ++round) {
    bool changed = false;
    for (const ir::Guard& assumption : assumptions_) {
      if (assumption.is_constant() || assumption.node()->op != ir::ExprOp::kIndexEq) continue;
      const ir::ExprNode* a = assumption.node()->kids[0];
      const ir::ExprNode* b = assumption.node()->kids[1];
      if (rank_of(a) < rank_of(b)) std::swap(a, b);
      if (rank_of(a) < 0) continue;
      const auto value = ir::evaluate(ir::Index(b), values);
      auto& own = values.find(a->name)->second;
      if (!value || *value < 1 || *value == own) continue;
      own = *value;
      changed = true;
    }
    if (!changed) break;
  }
  return values;
}

std::optional<ir::SymbolValues> SizeProver::values_near(const ir::SymbolValues& given,
                                                        const std::vector<std::string>& order) {
  const ir::SymbolValues wanted = propagated(given, order);
  if (meets(wanted)) return wanted;
  constexpr std::int64_t kLarge = 2048;  // no free symbol should need more
  const auto found_with = [&](const ir::SymbolValues& fixed) -> std::optional<ir::SymbolValues> {
    GuardQuery query;
    for (const ir::Guard& assumption : assumptions_) query.add(assumption);
    for (const std::string& symbol : order) {
      const auto range = ranges_.find(symbol);
      const SizeRange bounds = range != ranges_.end() ? range->second : SizeRange();
      const auto set = fixed.find(symbol);
      query.at_least(symbol, set != fixed.end() ? set->second : bounds.least);
      query.at_most(
          symbol, set != fixed.end() ? set->second : std::clamp(kLarge, bounds.least, bounds.most));
    }
    const SolverSession::Finding finding = session_.find(query.query(), kWork, /*proves=*/false);
    ir::SymbolValues values = wanted;
    for (const auto& [symbol, number] : finding.numbers) {
      if (values.contains(symbol)) values.insert_or_assign(symbol, number);
    }
    return finding.answer == Answer::kSatisfiable && meets(values) ? std::optional(values)
                                                                   : std::nullopt;
  };
  ir::SymbolValues fixed;
  std::optional<ir::SymbolValues> best = found_with(fixed);
  if (!best) return std::nullopt;
  for (const std::string& symbol : order) {
    const std::int64_t number = wanted.at(symbol);
    fixed[symbol] = number;
    if (best->at(symbol) == number) continue;
    if (auto more = found_with(fixed)) {
      best = std::move(more);
    } else {
      fixed.erase(symbol);
    }
  }
  return best;
}

bool SizeProver::is_contradictory(ir::Guard guard) {
  GuardQuery query;
  if (!meter_.is_shallow(guard.node()) || !query.add(guard)) return false;
  std::vector<ir::Guard> all = assumptions_;
  all.push_back(guard);
  for (const ir::Guard& assumption : assumptions_) query.add(assumption);  // or less is known
  for (const std::string& symbol : symbols_of(all)) {
    const auto range = ranges_.find(symbol);
    const SizeRange bounds = range != ranges_.end() ? range->second : SizeRange();
    query.at_least(symbol, bounds.least);
    query.at_most(symbol, bounds.most);
  }
  return session_.contradictory(query.query(), kWork);
}

}  // namespace egret::verifier
