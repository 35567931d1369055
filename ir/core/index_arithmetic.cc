// SPDX-License-Identifier: Apache-2.0
#include "ir/core/index_arithmetic.h"

#include <algorithm>
#include <numeric>

namespace egret::ir {
namespace {

// A product as one integer and symbolic factors.
struct Factors {
  std::int64_t constant = 1;
  std::vector<Index> symbolic{};
  bool overflow = false;
};

Factors factors_of(std::span<const Index> sizes) {
  Factors result;
  std::vector<Index> pending(sizes.rbegin(), sizes.rend());
  while (!pending.empty()) {
    const Index size = pending.back();
    pending.pop_back();
    if (size.is_constant()) {
      result.overflow |= __builtin_mul_overflow(result.constant, size.constant(), &result.constant);
    } else if (size.node()->op == ExprOp::kIndexMul) {
      pending.emplace_back(size.node()->kids[1]);
      pending.emplace_back(size.node()->kids[0]);
    } else {
      result.symbolic.push_back(size);
    }
  }
  return result;
}

}  // namespace

// Horner's scheme in row-major order.
Index linear_index(std::span<const Index> indices, std::span<const Index> sizes) {
  Index position = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) position = position * sizes[i] + indices[i];
  return position;
}

// The first index needs no remainder: the position is below the product of all sizes.
std::vector<Index> multi_index(Index position, std::span<const Index> sizes) {
  std::vector<Index> indices(sizes.size(), Index(0));
  Index stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    const Index quotient = div(position, stride);
    indices[i] = i == 0 ? quotient : mod(quotient, sizes[i]);
    stride = stride * sizes[i];
  }
  return indices;
}

Index wrapped_index(Scalar element, Index size) { return mod(index_of(element), size); }

Index product(std::span<const Index> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), Index(1),
                         [](Index a, Index b) { return a * b; });
}

// Cancels equal symbolic factors and the common divisor of the constants, so that (4 n m) / (2 n)
// is found to be 2 m without knowing n.
Quotient cancelled_quotient(std::span<const Index> numerator, std::span<const Index> denominator) {
  Factors above = factors_of(numerator);
  Factors below = factors_of(denominator);
  if (below.constant == 0 || above.overflow || below.overflow) return {0, false};
  std::erase_if(below.symbolic, [&](Index factor) {
    const auto found =
        std::ranges::find_if(above.symbolic, [&](Index other) { return other.same(factor); });
    if (found == above.symbolic.end()) return false;
    above.symbolic.erase(found);
    return true;
  });
  const std::int64_t common = std::gcd(above.constant, below.constant);
  const Index rest_above = product(above.symbolic) * (above.constant / common);
  const Index rest_below = product(below.symbolic) * (below.constant / common);
  return {div(rest_above, rest_below), mod(rest_above, rest_below) == 0};
}

}  // namespace egret::ir
