// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/drafting/left_quantities.h"

#include <map>
#include <utility>

#include "rules/language/expression_parts.h"

namespace egret::rules::generator {
namespace {

// dim(?x, ?axis) where an open axis has the number, then dim(?x, 1). Tensors in the order of the
// left side: amounts are often counted from the first one.
void add_sizes(const TermTable& terms, const LeftSide& left, Quantities& quantities) {
  std::map<int, std::size_t> starts;  // by slot, which is that order
  for (const auto& [start, slot] : left.slots) starts.emplace(slot, start);
  const auto axes = constant_attributes<std::int64_t>(left, "axis");
  for (const auto& [slot, start] : starts) {
    for (int axis = 0; axis < rank_of_start(terms, start); ++axis) {
      const ByWorld sizes = sizes_of_start(terms, start, axis);
      for (const auto& [open, number] : axes) {
        if (number == axis) quantities.add({call("dim", {tensor(slot), attribute(open)}), sizes});
      }
      quantities.add({call("dim", {tensor(slot), literal(std::int64_t{axis})}), sizes});
    }
  }
}

// at(?list, i) of an open list; -1 in worlds where the list is shorter.
void add_elements(const OpenAttribute& open, Quantities& quantities) {
  const std::size_t size = std::get<ir::Integers>(open.values.front()).size();
  for (std::size_t i = 0; i < size; ++i) {
    ByWorld values;
    for (const ir::AttrValue& value : open.values) {
      const auto& list = std::get<ir::Integers>(value);
      values.push_back(i < list.size() ? list[i] : -1);
    }
    quantities.add({call("at", {attribute(open.slot), literal(static_cast<std::int64_t>(i))}),
                    std::move(values), true, ListPlace{open.name, i}});
  }
}

void add_attributes(const LeftSide& left, Quantities& quantities) {
  for (const OpenAttribute& open : left.open) {
    if (std::holds_alternative<std::int64_t>(open.values.front())) {
      ByWorld values;
      for (const ir::AttrValue& value : open.values)
        values.push_back(std::get<std::int64_t>(value));
      quantities.add({attribute(open.slot), std::move(values), true});
    } else if (std::holds_alternative<ir::Integers>(open.values.front())) {
      add_elements(open, quantities);
    }
  }
}

}  // namespace

Quantities quantities_of(const TermTable& terms, const LeftSide& left, Preference preference) {
  const bool attributes_first = preference == Preference::kAttributes;
  Quantities quantities(terms.space().worlds(), attributes_first);
  if (attributes_first) add_attributes(left, quantities);
  add_sizes(terms, left, quantities);
  if (!attributes_first) add_attributes(left, quantities);
  return quantities;
}

}  // namespace egret::rules::generator
