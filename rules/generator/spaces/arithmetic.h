// SPDX-License-Identifier: Apache-2.0
// The domains in which programs of terms (rules/generator/spaces/program.h) are run. Each offers
// the same operations on 64-bit words:
//   Residues   a prime field; functions and order are keyed pseudo-random ones
//   (ir/evaluate/prime_field.h) Numbers    doubles, as their bits; functions and order are
//   themselves Masks      which variables a value may depend on: the union over what it reads
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include "ir/evaluate/prime_field.h"

namespace egret::rules::generator {

using Word = std::uint64_t;

class Residues {
 public:
  static constexpr Word kMersenne = ir::PrimeField::kMersenne;
  using Accumulator = ir::PrimeField::Accumulator;

  explicit Residues(Word prime = kMersenne, Word key = 0) : field_(prime), key_(key) {}
  operator const ir::PrimeField&() const { return field_; }

  // A key whose order has about this share of all elements below 0, and -1 < 0 < 1. Where few are
  // below 0 a relu changes nothing that a maximum looks at; where most are it leaves little but 0.
  static Word key_for(std::uint64_t seed, double share, Word prime) {
    for (Word key = base::mix(seed);; key = base::mix(key + 1)) {
      const double below = std::ldexp(static_cast<double>(base::mix(key)), -64);
      if (std::abs(below - share) > 0.02 || !ir::PrimeField::less(key, 0, 1)) continue;
      if (ir::PrimeField::less(key, prime - 1, 0)) return key;
    }
  }

  Word constant(double value) const { return field_.from_double(value); }
  Word add(Word a, Word b) const { return field_.add(a, b); }
  Word neg(Word a) const { return field_.neg(a); }
  Word sub(Word a, Word b) const { return field_.sub(a, b); }
  Word mul(Word a, Word b) const { return field_.mul(a, b); }
  // The field has no quotient by 0; such a value is taken for 0, and noted.
  Word div(Word a, Word b) {
    if (b == 0) {
      undefined_ = true;
      return 0;
    }
    if (b != last_divisor_) {
      last_divisor_ = b;
      last_inverse_ = field_.inverse(b);
    }
    return mul(a, last_inverse_);
  }
  Word min(Word a, Word b) const { return ir::PrimeField::less(key_, b, a) ? b : a; }
  Word max(Word a, Word b) const { return ir::PrimeField::less(key_, a, b) ? b : a; }
  Word call(ir::Function function, Word a, Word b) const {
    return field_.call(key_, function, a, b);
  }

  void note_undefined() { undefined_ = true; }
  const ir::PrimeField& field() const { return field_; }
  Word key() const { return key_; }

  // Whether something was undefined since the last call.
  bool take_undefined() { return std::exchange(undefined_, false); }

 private:
  ir::PrimeField field_;
  Word key_;
  Word last_divisor_ = 0;
  Word last_inverse_ = 0;
  bool undefined_ = false;
};

class Numbers {
 public:
  static Word word(double value) { return std::bit_cast<Word>(value); }
  static double number(Word word) { return std::bit_cast<double>(word); }
  // The first 30 binary digits: what rounding errors leave alone. All that is not finite is one.
  static Word rounded(Word word) {
    constexpr double kNothing = 1e-9;
    const double value = number(word);
    if (!std::isfinite(value)) return ~Word{0};
    if (std::abs(value) < kNothing) return 0;
    int exponent = 0;
    const double digits = std::round(std::ldexp(std::frexp(value, &exponent), 30));
    return Numbers::word(std::ldexp(digits, exponent - 30));
  }

  Word constant(double value) const { return word(value); }
  Word add(Word a, Word b) const { return word(number(a) + number(b)); }
  Word neg(Word a) const { return word(-number(a)); }
  Word sub(Word a, Word b) const { return word(number(a) - number(b)); }
  Word mul(Word a, Word b) const { return word(number(a) * number(b)); }
  Word div(Word a, Word b) {
    if (number(b) == 0) note_undefined();
    return word(number(a) / number(b));
  }
  Word min(Word a, Word b) const { return word(std::min(number(a), number(b))); }
  Word max(Word a, Word b) const { return word(std::max(number(a), number(b))); }
  Word call(ir::Function function, Word a, Word b) const {
    return word(ir::facts(function).f64(number(a), number(b)));
  }
  class Accumulator {
   public:
    explicit Accumulator(const Numbers&) {}
    void add_product(Word a, Word b) { sum_ += number(a) * number(b); }
    Word value() const { return word(sum_); }

   private:
    double sum_ = 0;
  };

  void note_undefined() { undefined_ = true; }
  bool take_undefined() { return std::exchange(undefined_, false); }

 private:
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
