// SPDX-License-Identifier: Apache-2.0
// The domains in which programs of terms (rules/generator/program.h) are run. Each offers the same
// operations on 64-bit words:
//   Residues   a prime field; functions and order are keyed pseudo-random ones, as in ir/field.h
//   Masks      which variables a value may depend on: the union over what it reads
#pragma once

#include <cmath>
#include <cstdint>

#include "base/hash.h"
#include "ir/function.h"

namespace egret::rules::generator {

using Word = std::uint64_t;

class Residues {
 public:
  static constexpr Word kMersenne = (Word{1} << 61) - 1;

  // `prime` is below 2^61 and above 2^60.
  explicit Residues(Word prime = kMersenne, Word key = 0) : p_(prime), key_(key) {}

  Word constant(double value) const {
    int exponent = 0;
    const double fraction = std::frexp(value, &exponent);
    const auto digits = static_cast<std::int64_t>(std::ldexp(fraction, 53));
    Word result =
        digits >= 0 ? static_cast<Word>(digits) % p_ : neg(static_cast<Word>(-digits) % p_);
    Word two = exponent >= 53 ? 2 : inverse(2);
    for (int i = std::abs(exponent - 53); i > 0; --i) result = mul(result, two);
    return result;
  }
  Word add(Word a, Word b) const {
    const Word sum = a + b;
    return sum >= p_ ? sum - p_ : sum;
  }
  Word neg(Word a) const { return a == 0 ? 0 : p_ - a; }
  Word sub(Word a, Word b) const { return add(a, neg(b)); }
  Word mul(Word a, Word b) const { return reduced(static_cast<Wide>(a) * b); }
  // The field has no quotient by 0; such a value is taken for 0, and noted.
  Word div(Word a, Word b) {
    if (b == 0) {
      undefined_ = true;
      return 0;
    }
    if (b != last_divisor_) {
      last_divisor_ = b;
      last_inverse_ = inverse(b);
    }
    return mul(a, last_inverse_);
  }
  Word min(Word a, Word b) const { return less(b, a) ? b : a; }
  Word max(Word a, Word b) const { return less(a, b) ? b : a; }
  Word call(ir::Function function, Word a, Word b) {
    constexpr Word kLargestPower = 64;
    if (function == ir::Function::kPow && b <= kLargestPower) return power(a, b);
    if (function == ir::Function::kPow && p_ - b <= kLargestPower) return div(1, power(a, p_ - b));
    const ir::FunctionFacts& fact = ir::facts(function);
    const bool flip = fact.parity != ir::Parity::kNone && a > p_ / 2;
    Word hash = base::hash_combine(key_, static_cast<Word>(function));
    hash = base::hash_combine(hash, flip ? p_ - a : a);
    if (fact.arity > 1) hash = base::hash_combine(hash, b);
    const Word result = hash % p_;
    if (fact.parity != ir::Parity::kOdd) return result;
    return a == 0 ? 0 : (flip ? neg(result) : result);
  }

  // Sum of products, reduced once in so many terms.
  class Accumulator {
   public:
    explicit Accumulator(const Residues& field) : field_(field) {}
    void add_product(Word a, Word b) {
      sum_ += static_cast<Wide>(a) * b;
      if (++terms_ % 32 == 0) sum_ = field_.reduced(sum_);
    }
    Word value() const { return field_.reduced(sum_); }

   private:
    __extension__ typedef unsigned __int128 Wide;
    const Residues& field_;
    Wide sum_ = 0;
    unsigned terms_ = 0;
  };

  // Whether something was undefined since the last call.
  bool take_undefined() {
    const bool result = undefined_;
    undefined_ = false;
    return result;
  }
  Word prime() const { return p_; }

 private:
  __extension__ typedef unsigned __int128 Wide;

  bool less(Word a, Word b) const { return base::mix(a ^ key_) < base::mix(b ^ key_); }
  Word power(Word a, Word exponent) const {
    Word result = 1;
    for (; exponent != 0; exponent >>= 1) {
      if ((exponent & 1) != 0) result = mul(result, a);
      a = mul(a, a);
    }
    return result;
  }
  Word inverse(Word a) const { return power(a, p_ - 2); }
  Word reduced(Wide product) const {
    if (p_ != kMersenne) return static_cast<Word>(product % p_);
    // 2^61 = 1; the sums of an Accumulator have up to 128 bits.
    const Wide once = (product & kMersenne) + (product >> 61);
    const Wide twice = (once & kMersenne) + (once >> 61);
    const Word low = static_cast<Word>(twice & kMersenne) + static_cast<Word>(twice >> 61);
    return low >= kMersenne ? low - kMersenne : low;
  }

  Word p_;
  Word key_;
  Word last_divisor_ = 0;
  Word last_inverse_ = 0;
  bool undefined_ = false;
};

struct Masks {
  Word constant(double) const { return 0; }
  Word add(Word a, Word b) const { return a | b; }
  Word neg(Word a) const { return a; }
  Word sub(Word a, Word b) const { return a | b; }
  Word mul(Word a, Word b) const { return a | b; }
  Word div(Word a, Word b) const { return a | b; }
  Word min(Word a, Word b) const { return a | b; }
  Word max(Word a, Word b) const { return a | b; }
  Word call(ir::Function, Word a, Word b) const { return a | b; }
  class Accumulator {
   public:
    explicit Accumulator(const Masks&) {}
    void add_product(Word a, Word b) { mask_ |= a | b; }
    Word value() const { return mask_; }

   private:
    Word mask_ = 0;
  };
};

}  // namespace egret::rules::generator
