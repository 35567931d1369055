// SPDX-License-Identifier: Apache-2.0
#include "ir/nest/affine.h"

#include <algorithm>
#include <limits>

#include "ir/core/integer_arithmetic.h"

namespace egret::ir {
namespace {

__extension__ typedef __int128 Wide;

// Half of the range, so that a few saturated bounds add without overflow.
constexpr std::int64_t kLimit = std::numeric_limits<std::int64_t>::max() / 4;

std::int64_t saturated(Wide value) {
  if (value > kLimit) return kLimit;
  return value < -kLimit ? -kLimit : static_cast<std::int64_t>(value);
}

}  // namespace

std::int64_t Affine::factor(int symbol) const {
  for (const Part& part : parts) {
    if (part.symbol == symbol) return part.factor;
  }
  return 0;
}

// Merges two lists that are sorted by symbol. No factor is 0, so equal forms have equal lists.
Affine operator+(const Affine& a, const Affine& b) {
  Affine sum(wrapping_add(a.constant, b.constant));
  auto p = a.parts.begin();
  auto q = b.parts.begin();
  while (p != a.parts.end() || q != b.parts.end()) {
    if (q == b.parts.end() || (p != a.parts.end() && p->symbol < q->symbol)) {
      sum.parts.push_back(*p++);
    } else if (p == a.parts.end() || q->symbol < p->symbol) {
      sum.parts.push_back(*q++);
    } else {
      const std::int64_t factor = wrapping_add(p->factor, q->factor);
      if (factor != 0) sum.parts.push_back({p->symbol, factor});
      ++p;
      ++q;
    }
  }
  return sum;
}

Affine operator*(const Affine& a, std::int64_t factor) {
  Affine product(wrapping_mul(a.constant, factor));
  for (const Affine::Part& part : a.parts) {
    const std::int64_t scaled = wrapping_mul(part.factor, factor);
    if (scaled != 0) product.parts.push_back({part.symbol, scaled});
  }
  return product;
}

Affine operator-(const Affine& a, const Affine& b) { return a + b * -1; }

Range operator+(Range a, Range b) {
  return {saturated(static_cast<Wide>(a.low) + b.low),
          saturated(static_cast<Wide>(a.high) + b.high)};
}

Range operator*(Range a, std::int64_t factor) { return a * Range{factor, factor}; }

Range operator*(Range a, Range b) {
  const Wide products[] = {static_cast<Wide>(a.low) * b.low, static_cast<Wide>(a.low) * b.high,
                           static_cast<Wide>(a.high) * b.low, static_cast<Wide>(a.high) * b.high};
  return {saturated(*std::min_element(products, products + 4)),
          saturated(*std::max_element(products, products + 4))};
}

}  // namespace egret::ir
