// SPDX-License-Identifier: Apache-2.0
// A set of integers, each an expression with a value in every world, and the search for an
// expression over them that has a wanted value in every world: one of them, a sum, a difference, a
// product or a quotient.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "rules/language/expression.h"

namespace egret::rules::generator {

using ByWorld = std::vector<std::int64_t>;  // by world

// The place of a number in a list attribute of this name.
struct ListPlace {
  std::string_view list;
  std::size_t index;
  friend bool operator==(const ListPlace&, const ListPlace&) = default;
};

struct Quantity {
  Expr expr;
  ByWorld values;
  bool is_attribute = false;
  std::optional<ListPlace> place{};
};

bool mentions(const Expr& expr, int attribute_slot);

class Quantities {
 public:
  // `attributes_first`: where several expressions fit, one that mentions an attribute is preferred.
  Quantities(std::size_t worlds, bool attributes_first)
      : worlds_(worlds), attributes_first_(attributes_first) {}

  void add(Quantity quantity) { all_.push_back(std::move(quantity)); }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

  // An expression with the wanted values that does not mention the attribute variable `without`. If
  // several fit, the one over quantities added first: random instances know those first. For an
  // element of a list, sums with the element at that place on the left come before other
  // expressions. O(quantities^2).
  std::optional<Expr> fit(const ByWorld& wanted, int without = -1,
                          const std::optional<ListPlace>& place = {}) const;

 private:
  std::optional<Expr> fit_any(const ByWorld& wanted, int without,
                              const std::optional<ListPlace>& place) const;
  // The sum of the element at this place on the left and another: the element at the same place of
  // another list, or else any element of a list.
  std::optional<Expr> sum_in_place(const ByWorld& wanted, const ListPlace& place) const;

  std::size_t worlds_;
  bool attributes_first_;
  std::vector<Quantity> all_;
};

}  // namespace egret::rules::generator
