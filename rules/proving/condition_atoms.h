// SPDX-License-Identifier: Apache-2.0
// Conditions that may separate the instances for which a rule holds from the others: equations,
// inequalities and divisibilities between the rule's integers, and signs of its real attributes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "rules/language/rule.h"
#include "rules/testing/instance.h"

namespace egret::rules {

// The values of a rule's quantities in one instance; nullopt where one does not exist.
using QuantityValues = std::vector<std::optional<std::int64_t>>;

// The integers of a rule in instances like one: ranks, sizes, attributes and elements of lists;
// whether element types are real; the signs of real attributes, as truths.
class Quantities {
 public:
  explicit Quantities(const Instance& like);

  std::size_t size() const { return all_.size(); }
  // The quantities from here on are ranks and whether element types are real, in pairs.
  std::size_t first_structural() const { return structural_; }
  // The quantities from here on are truths.
  std::size_t first_truth() const { return truths_; }
  const Expr& expr(std::size_t quantity) const { return all_[quantity]; }
  QuantityValues values(const Rule& rule, const Instance& instance) const;

 private:
  std::vector<Expr> all_;
  std::size_t structural_ = 0;
  std::size_t truths_ = 0;
};

struct Atom {
  // In the order of preference. Quantities are a, b and c.
  enum class Form : std::uint8_t {
    kEqual,         // a == b
    kEqualNumber,   // a == number; of a truth: a
    kLessEqual,     // a <= b
    kLess,          // a < b
    kAtLeast,       // a >= number
    kAtMost,        // a <= number
    kMultiple,      // a % b == 0
    kMultipleOf,    // a % number == 0
    kEqualSum,      // a == b + c
    kEqualProduct,  // a == b * c
    kSumAtMost,     // a + b <= c
  };
  Form form;
  std::size_t a;
  std::size_t b = 0;
  std::size_t c = 0;
  std::int64_t number = 0;
};

// False if a quantity has no value.
bool holds(const Atom& atom, const QuantityValues& values);
Expr expression(const Atom& atom, const Quantities& quantities);
// All atoms over the quantities. Numbers are 0, 1, and those that quantities have in the examples.
// Quantities with one value in all examples are left out.
std::vector<Atom> all_atoms(const Quantities& quantities,
                            const std::vector<QuantityValues>& examples);

}  // namespace egret::rules
