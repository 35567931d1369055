// SPDX-License-Identifier: Apache-2.0
// Integers that the left side of a rule tells, sizes and attributes, and what is made of them: an
// expression that has a number's value in every world.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "rules/language/expression.h"

namespace egret::rules::generator {

using ByWorld = std::vector<std::int64_t>;  // by world

// Where a number stands in the list of an attribute of this name.
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
  // `attributes_first`: where several expressions fit, one that speaks of an attribute.
  Quantities(std::size_t worlds, bool attributes_first)
      : worlds_(worlds), attributes_first_(attributes_first) {}

  void add(Quantity quantity) { all_.push_back(std::move(quantity)); }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

  // An expression with these values that does not speak of the attribute variable `without`, of
  // those added first if there are several: random instances know them first. For a place in a list
  // what stands there on the left comes first, and is added to.
  std::optional<Expr> fit(const ByWorld& wanted, int without = -1,
                          const std::optional<ListPlace>& place = {}) const;

 private:
  std::optional<Expr> fit_any(const ByWorld& wanted, int without,
                              const std::optional<ListPlace>& place) const;
  // What stands there on the left and something more: what stands there in another list, or else
  // any other number of a list.
  std::optional<Expr> sum_in_place(const ByWorld& wanted, const ListPlace& place) const;

  std::size_t worlds_;
  bool attributes_first_;
  std::vector<Quantity> all_;
};

}  // namespace egret::rules::generator
