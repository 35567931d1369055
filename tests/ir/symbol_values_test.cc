// SPDX-License-Identifier: Apache-2.0
#include "ir/core/symbol_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "base/random.h"

namespace egret::ir {
namespace {

TEST(SymbolValues, LeaveOpenWhatIsNotKnown) {
  const Index n = symbolic_dim("N");
  const Index k = symbolic_dim("K");
  EXPECT_EQ(evaluate(n * 2 + 1, {{"N", 3}}), std::optional<std::int64_t>(7));
  EXPECT_EQ(evaluate(n + k, {{"N", 3}}), std::nullopt);
  EXPECT_EQ(evaluate(div(n, k), {{"N", 3}, {"K", 0}}), std::nullopt);
  EXPECT_EQ(evaluate(div(n, k), {{"N", -3}, {"K", 2}}), std::optional<std::int64_t>(-2));
  EXPECT_EQ(evaluate(mod(n, k), {{"N", -3}, {"K", 2}}), std::optional<std::int64_t>(1));
  EXPECT_EQ(evaluate(n + k, {{"N", std::numeric_limits<std::int64_t>::max()}, {"K", 1}}),
            std::nullopt);
  EXPECT_EQ(evaluate(!(n <= k), {{"N", 3}, {"K", 2}}), std::optional(true));
}

// Of a few symbols and numbers, so that expressions share parts.
class RandomGuards {
 public:
  explicit RandomGuards(std::uint64_t seed) : random_(seed) {}

  Index index(int depth) {
    if (depth == 0) {
      const std::uint64_t which = random_.below(4);
      return which < 3 ? symbolic_dim(std::string(1, "NKM"[which])) : random_.between(-3, 3);
    }
    const Index a = index(depth - 1);
    const Index b = index(depth - 1);
    switch (random_.below(6)) {
      case 0: return a + b;
      case 1: return a * b;
      case 2: return b.is_constant() && b.constant() <= 0 ? a : div(a, b);
      case 3: return b.is_constant() && b.constant() <= 0 ? b : mod(a, b);
      case 4: return min(a, b);
      default: return max(a, b);
    }
  }
  Guard guard(int depth) {
    if (depth == 0) return random_.chance(0.5) ? index(2) <= index(2) : index(1) == index(1);
    const Guard a = guard(depth - 1);
    const Guard b = guard(depth - 1);
    const std::uint64_t which = random_.below(3);
    return which == 0 ? a && b : which == 1 ? a || b : !a;
  }
  SymbolValues values() {
    SymbolValues values;
    for (const char* name : {"N", "K", "M"}) {
      if (random_.chance(0.95)) values[name] = random_.between(-4, 9);
    }
    return values;
  }

 private:
  base::Random random_;
};

TEST(GuardProgram, HoldsWhereAllGuardsDo) {
  RandomGuards random(1);
  int held = 0;
  int failed = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<Guard> guards;
    for (int i = 0; i <= round % 4; ++i) guards.push_back(random.guard(round % 3));
    const GuardProgram program(guards);
    for (int i = 0; i < 10; ++i) {
      const SymbolValues values = random.values();
      const bool all = std::ranges::all_of(
          guards, [&](Guard guard) { return evaluate(guard, values) == std::optional(true); });
      ASSERT_EQ(program.holds(values), all);
      ++(all ? held : failed);
    }
  }
  EXPECT_GT(held, 1000);
  EXPECT_GT(failed, 3000);
}

TEST(GuardProgram, HoldsWhereNothingIsAsked) {
  EXPECT_TRUE(GuardProgram({}).holds({}));
  EXPECT_TRUE(GuardProgram(std::vector{Guard(true)}).holds({}));
  EXPECT_FALSE(GuardProgram(std::vector{Guard(false)}).holds({}));
}

}  // namespace
}  // namespace egret::ir
