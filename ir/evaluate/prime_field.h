// SPDX-License-Identifier: Apache-2.0
// Arithmetic modulo a prime, for fingerprints (ir/evaluate/field.h, rules/generator/). Elements are
// integers in [0, prime). What is no arithmetic is a keyed pseudo-random function of its arguments:
// opaque functions (odd and even ones respect their parity, a power with a small integer exponent
// is a true power), and a total order that has nothing to do with size.
//
// Two expressions of + - * / that differ agree on random elements with probability at most
// degree / 2^60 (Schwartz 1980, Zippel 1979).
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "base/hash.h"
#include "ir/core/function.h"

namespace egret::ir {

class PrimeField {
 public:
  using Element = std::uint64_t;
  // Products are reduced by shifts alone.
  static constexpr Element kMersenne = (Element{1} << 61) - 1;

  // `prime` is above 2^60 and at most 2^61.
  constexpr explicit PrimeField(Element prime = kMersenne) : p_(prime) {}

  constexpr Element prime() const { return p_; }

  constexpr Element add(Element a, Element b) const {
    const Element sum = a + b;
    return sum >= p_ ? sum - p_ : sum;
  }
  constexpr Element neg(Element a) const { return a == 0 ? 0 : p_ - a; }
  constexpr Element sub(Element a, Element b) const { return add(a, neg(b)); }
  constexpr Element mul(Element a, Element b) const { return reduced(static_cast<Wide>(a) * b); }
  constexpr Element power(Element a, Element exponent) const {
    Element result = 1;
    for (; exponent != 0; exponent >>= 1) {
      if ((exponent & 1) != 0) result = mul(result, a);
      a = mul(a, a);
    }
    return result;
  }
  // Of an element that is not 0.
  constexpr Element inverse(Element a) const { return power(a, p_ - 2); }

  constexpr Element from_u64(std::uint64_t value) const { return value % p_; }
  constexpr Element from_i64(std::int64_t value) const {
    if (value >= 0) return from_u64(static_cast<std::uint64_t>(value));
    return neg(from_u64(static_cast<std::uint64_t>(-(value + 1)) + 1));
  }
  // The integer of least magnitude whose image this is.
  constexpr std::int64_t to_i64(Element a) const {
    return a <= p_ / 2 ? static_cast<std::int64_t>(a) : -static_cast<std::int64_t>(p_ - a);
  }
  // The image of a finite double: digits * 2^exponent.
  Element from_double(double value) const {
    int exponent = 0;
    const double fraction = std::frexp(value, &exponent);
    const Element digits = from_i64(static_cast<std::int64_t>(std::ldexp(fraction, 53)));
    const int shift = exponent - 53;
    const Element two = shift >= 0 ? 2 : inverse(2);
    return mul(digits, power(two, static_cast<Element>(std::abs(shift))));
  }

  // A total order: mix() is a bijection.
  static bool less(std::uint64_t key, Element a, Element b) {
    return base::mix(a ^ key) < base::mix(b ^ key);
  }

  Element call(std::uint64_t key, Function function, Element a, Element b) const {
    constexpr Element kLargestPower = 64;
    if (function == Function::kPow && b <= kLargestPower) return power(a, b);
    if (function == Function::kPow && p_ - b <= kLargestPower && a != 0)
      return power(inverse(a), p_ - b);
    const FunctionFacts& fact = facts(function);
    const bool negative = a > p_ / 2;
    const Element magnitude = negative && fact.parity != Parity::kNone ? p_ - a : a;
    std::uint64_t hash = base::hash_combine(key, static_cast<std::uint64_t>(function));
    hash = base::hash_combine(hash, magnitude);
    if (fact.arity > 1) hash = base::hash_combine(hash, b);
    const Element result = from_u64(hash);
    if (fact.parity != Parity::kOdd) return result;
    return a == 0 ? 0 : (negative ? neg(result) : result);
  }

  // A sum of products, reduced once in so many terms.
  class Accumulator {
   public:
    explicit Accumulator(const PrimeField& field) : field_(field) {}
    void add_product(Element a, Element b) {
      sum_ += static_cast<Wide>(a) * b;
      if (++terms_ % 32 == 0) sum_ = field_.reduced(sum_);
    }
    Element value() const { return field_.reduced(sum_); }

   private:
    __extension__ typedef unsigned __int128 Wide;
    const PrimeField& field_;
    Wide sum_ = 0;
    unsigned terms_ = 0;
  };

 private:
  __extension__ typedef unsigned __int128 Wide;

  constexpr Element reduced(Wide value) const {
    if (p_ != kMersenne) return static_cast<Element>(value % p_);
    // 2^61 = 1; sums of an Accumulator have up to 128 bits.
    const Wide once = (value & kMersenne) + (value >> 61);
    const Wide twice = (once & kMersenne) + (once >> 61);
    const Element low = static_cast<Element>(twice & kMersenne) + static_cast<Element>(twice >> 61);
    return low >= kMersenne ? low - kMersenne : low;
  }

  Element p_;
};

}  // namespace egret::ir
