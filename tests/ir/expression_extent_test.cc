// SPDX-License-Identifier: Apache-2.0
#include "ir/core/expression_extent.h"

#include <gtest/gtest.h>

namespace egret::ir {
namespace {

TEST(ExpressionExtent, CountsTreesTermsAndNestedDivisions) {
  ExpressionMeter meter;
  const Index a = symbolic_dim("a");
  const Index b = symbolic_dim("b");
  const Index sum = a + b;
  EXPECT_EQ(meter.of(sum.node()).nodes, 3);
  EXPECT_EQ(meter.of(sum.node()).terms, 2);
  const Index square = sum * sum;
  EXPECT_EQ(meter.of(square.node()).nodes, 7);
  EXPECT_EQ(meter.of(square.node()).terms, 4);
  const Index quotient = div(square, b) * a;
  EXPECT_EQ(meter.of(quotient.node()).terms, 1);
  EXPECT_EQ(meter.of(quotient.node()).most_terms, 5);  // four, and the divisor
  EXPECT_EQ(meter.of(quotient.node()).divisions, 1);
  EXPECT_EQ(meter.of(mod(div(a, b), Index(3)).node()).divisions, 2);
}

// Linear in the nodes, though the trees are 2^80 long; no recursion in chains of 10^5.
TEST(ExpressionExtent, TellsLongExpressions) {
  ExpressionMeter meter;
  Index doubled = symbolic_dim("a") + symbolic_dim("b");
  EXPECT_TRUE(meter.is_short(doubled));
  for (int i = 0; i < 80; ++i) doubled = max(doubled + symbolic_dim("c"), doubled);
  EXPECT_FALSE(meter.is_short(doubled));
  Index chain = symbolic_dim("a");
  for (int i = 0; i < 100'000; ++i) chain = div(chain + symbolic_dim("b"), Index(3));
  EXPECT_FALSE(meter.is_short(chain));
  EXPECT_FALSE(meter.is_shallow(chain.node()));
  // Of few nodes, but 2^10 terms.
  Index product(1);
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"})
    product = product * (symbolic_dim(name) + symbolic_dim("z"));
  EXPECT_LT(meter.of(product.node()).nodes, 50);
  EXPECT_FALSE(meter.is_short(product));
}

}  // namespace
}  // namespace egret::ir
