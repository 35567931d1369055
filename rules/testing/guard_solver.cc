// SPDX-License-Identifier: Apache-2.0
#include "rules/testing/guard_solver.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/core/symbolic_scope.h"

namespace egret::rules {
namespace {

using Numbers = std::map<std::string, std::int64_t, std::less<>>;
using Symbols = std::vector<std::string_view>;  // each once

constexpr int kSteps = 8;
constexpr std::int64_t kMost = 8;                           // but for numbers that a guard names
constexpr std::int64_t kMostNamed = std::int64_t{1} << 40;  // larger ones would overflow

// The recursion depth is that of one condition.
void collect_symbols(const ir::ExprNode& node, Symbols& symbols) {
  if (node.op == ir::ExprOp::kSymbol && std::ranges::find(symbols, node.name) == symbols.end())
    symbols.push_back(node.name);
  for (const ir::ExprNode* kid : node.kids) collect_symbols(*kid, symbols);
}

// The constants in the guard, except those that are tried anyway.
void collect_numbers(const ir::ExprNode& node, std::set<std::int64_t>& numbers) {
  if (node.op == ir::ExprOp::kIndexConst && std::abs(node.integer) > 2 &&
      std::abs(node.integer) < kMostNamed)
    numbers.insert(std::abs(node.integer));
  for (const ir::ExprNode* kid : node.kids) collect_numbers(*kid, numbers);
}

// Local search. Each step repairs the last violated guard; after kSteps steps the search fails.
class Search {
 public:
  Search(std::span<const ir::Guard> guards, Numbers numbers, base::Random random)
      : guards_(guards), numbers_(std::move(numbers)), random_(random) {
    symbols_.resize(guards.size());
    for (std::size_t i = 0; i < guards.size(); ++i) {
      collect_symbols(*guards[i].node(), symbols_[i]);
      std::ranges::sort(symbols_[i]);  // the order of operands differs between processes
    }
  }

  std::optional<Numbers> run() {
    for (int step = 0; step < kSteps; ++step) {
      const auto broken = last_violated();
      if (!broken) return numbers_;
      if (!repair(*broken)) return std::nullopt;
    }
    return std::nullopt;
  }

 private:
  bool holds(std::size_t guard) const {
    return ir::evaluate(guards_[guard], numbers_) == std::optional(true);
  }

  std::optional<std::size_t> last_violated() const {
    for (std::size_t i = guards_.size(); i-- > 0;) {
      if (!holds(i)) return i;
    }
    return std::nullopt;
  }

  std::ptrdiff_t violated_with(std::string_view symbol) const {
    std::ptrdiff_t count = 0;
    for (std::size_t i = 0; i < guards_.size(); ++i)
      count += std::ranges::find(symbols_[i], symbol) != symbols_[i].end() && !holds(i) ? 1 : 0;
    return count;
  }

  // The value of the number with which both sides of the comparison are equal, if they differ by a
  // linear function of it near its value. The number keeps its value.
  std::optional<std::int64_t> root(const ir::ExprNode& guard, std::int64_t& number) const {
    const bool compares = guard.op == ir::ExprOp::kIndexLe || guard.op == ir::ExprOp::kIndexEq;
    if (guard.op == ir::ExprOp::kNot) return root(*guard.kids[0], number);
    if (!compares) return std::nullopt;
    const auto excess = [&]() -> std::optional<std::int64_t> {
      const auto left = ir::evaluate(ir::Index(guard.kids[0]), numbers_);
      const auto right = ir::evaluate(ir::Index(guard.kids[1]), numbers_);
      return left && right ? std::optional(*left - *right) : std::nullopt;
    };
    const auto here = excess();
    ++number;
    const auto next = excess();
    --number;
    if (!here || !next || *here == *next || *here % (*next - *here) != 0) return std::nullopt;
    const std::int64_t found = number - *here / (*next - *here);
    return std::abs(found) <= kMostNamed ? std::optional(found) : std::nullopt;
  }

  // Makes the guard hold by changing one number to a candidate value that newly violates the fewest
  // other guards. Ties are broken at random.
  bool repair(std::size_t broken) {
    // Candidate values: small numbers, the neighbours of the current numbers, of numbers that the
    // guard names, and of the number with which its sides are equal. The boundaries of comparisons
    // lie there.
    std::set<std::int64_t> values{0, 1, 2};
    for (const std::string_view symbol : symbols_[broken]) {
      const std::int64_t number = numbers_.find(symbol)->second;
      values.insert({number - 1, number, number + 1});
    }
    std::set<std::int64_t> named;
    collect_numbers(*guards_[broken].node(), named);
    // Twice a number and more, where it stands beside a factor or a divisor.
    for (const std::int64_t number : named)
      values.insert({number - 1, number, number + 1, 2 * number, 4 * number});
    const std::int64_t most = std::max(kMost, named.empty() ? 0 : 4 * *named.rbegin());
    std::ptrdiff_t least = std::ssize(guards_) + 1;
    std::vector<std::pair<std::int64_t*, std::int64_t>> best;
    for (const std::string_view symbol : symbols_[broken]) {
      const std::int64_t smallest = symbol.front() == '?' || symbol.front() == '-' ? 1 : 0;
      std::int64_t& number = numbers_.find(symbol)->second;
      const std::int64_t old = number;
      const std::ptrdiff_t before = violated_with(symbol);
      const auto equal = root(*guards_[broken].node(), number);
      std::set<std::int64_t> tried = values;
      if (equal) tried.insert({*equal - 1, *equal, *equal + 1});
      for (const std::int64_t value : tried) {
        const bool is_near_root = equal && std::abs(value - *equal) <= 1;
        if (value == old || value < smallest || (value > most && !is_near_root)) continue;
        number = value;
        if (!holds(broken)) continue;
        const std::ptrdiff_t more = violated_with(symbol) - before;
        if (best.empty() || more < least) best.clear();
        if (best.empty() || more == least) {
          least = more;
          best.emplace_back(&number, value);
        }
      }
      number = old;
    }
    if (best.empty()) return false;
    const auto& [number, value] = best[random_.below(best.size())];
    *number = value;
    return true;
  }

  std::span<const ir::Guard> guards_;
  Numbers numbers_;
  base::Random random_;
  std::vector<Symbols> symbols_;  // by guard
};

}  // namespace

std::optional<Numbers> solve_near(std::span<const ir::Guard> guards, Numbers numbers,
                                  base::Random random) {
  return Search(guards, std::move(numbers), random).run();
}

}  // namespace egret::rules
