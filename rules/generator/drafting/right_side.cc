// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/drafting/right_side.h"

#include <algorithm>
#include <utility>

#include "rules/generator/drafting/permuted_axes.h"
#include "rules/language/expression_parts.h"

namespace egret::rules::generator {

using ir::Integers;

namespace {

std::optional<Expr> integer(const StepAttr& attr, const LeftSide& left,
                            const Quantities& quantities) {
  if (attr.spec.name == "axis") {
    if (auto moved = permuted_axis(left, attr.values)) return moved;
  }
  ByWorld wanted;
  for (const ir::AttrValue& value : attr.values) wanted.push_back(std::get<std::int64_t>(value));
  return quantities.fit(wanted);
}

// A permutation or a list of axes, by attribute variables of the left side.
std::optional<Expr> axes(const StepAttr& attr, const LeftSide& left) {
  if (attr.spec.name == "perm") return composed_permutation(left, attr.values);
  if (attr.spec.name != "axes") return std::nullopt;
  if (auto moved = permuted_axes(left, attr.values)) return moved;
  const auto axis = single_axis(attr.spec.name, attr.values);
  if (!axis) return std::nullopt;
  for (const auto& [slot, number] : constant_attributes<std::int64_t>(left, "axis")) {
    if (number == *axis) return Expr{.kind = Expr::Kind::kList, .arguments = {attribute(slot)}};
  }
  return std::nullopt;
}

// [e0, e1, ...], with the length that the list has in the first world.
std::optional<Expr> list(const StepAttr& attr, const Quantities& quantities) {
  const std::size_t size = std::get<Integers>(attr.values.front()).size();
  Expr made{.kind = Expr::Kind::kList};
  for (std::size_t i = 0; i < size; ++i) {
    ByWorld wanted;
    for (const ir::AttrValue& value : attr.values) {
      const auto& elements = std::get<Integers>(value);
      if (elements.size() <= i) return std::nullopt;
      wanted.push_back(elements[i]);
    }
    auto element = quantities.fit(wanted, -1, ListPlace{attr.spec.name, i});
    if (!element) return std::nullopt;
    made.arguments.push_back(*std::move(element));
  }
  return made;
}

std::optional<Expr> right_attr(const StepAttr& attr, const LeftSide& left,
                               const Quantities& quantities) {
  const ir::AttrValue& first = attr.values.front();
  if (const OpenAttribute* same = find_open(left, attr.spec.name, attr.values))
    return attribute(same->slot);
  if (attr.spec.name == "dtype" && !left.slots.empty())
    return call("dtype", {tensor(left.slots.begin()->second)});
  if (attr.is_default) return literal(first);
  if (std::holds_alternative<std::int64_t>(first)) return integer(attr, left, quantities);
  if (auto found = axes(attr, left)) return found;
  if (std::holds_alternative<double>(first)) {
    // Operators may have different names for one parameter.
    const auto same = std::ranges::find(left.open, attr.values, &OpenAttribute::values);
    if (same != left.open.end()) return attribute(same->slot);
  }
  if (is_constant(attr.values)) return literal(first);
  if (std::holds_alternative<Integers>(first)) return list(attr, quantities);
  return std::nullopt;
}

}  // namespace

std::optional<Term> write_right_side(TermTable& terms, TermId term, const LeftSide& left,
                                     const Quantities& quantities) {
  if (terms.is_start(term))
    return Term{.kind = Term::Kind::kTensor, .slot = left.slots.at(terms.start_number(term))};
  return expand(
      terms, term,
      [&](TermId operand) { return write_right_side(terms, operand, left, quantities); },
      [&](const StepAttr& attr) { return right_attr(attr, left, quantities); });
}

}  // namespace egret::rules::generator
