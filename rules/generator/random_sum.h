// SPDX-License-Identifier: Apache-2.0
// One word that stands for many elements of a prime field: their sum with random coefficients. Two
// lists that differ have the same sum with probability 1 / p (Freivalds 1977), so that terms can be
// compared long after their elements were forgotten.
#pragma once

#include <span>
#include <vector>

#include "base/random.h"
#include "rules/generator/arithmetic.h"

namespace egret::rules::generator {

class RandomSum {
 public:
  RandomSum(const ir::PrimeField& field, std::uint64_t seed) : field_(field), random_(seed) {}

  Word of(std::span<const Word> elements) {
    while (coefficients_.size() < elements.size())
      coefficients_.push_back(random_.below(field_.prime()));
    ir::PrimeField::Accumulator sum(field_);
    for (std::size_t i = 0; i < elements.size(); ++i)
      sum.add_product(elements[i], coefficients_[i]);
    return sum.value();
  }

 private:
  ir::PrimeField field_;
  base::Random random_;
  std::vector<Word> coefficients_;
};

}  // namespace egret::rules::generator
