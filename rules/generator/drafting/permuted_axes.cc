// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/drafting/permuted_axes.h"

#include <algorithm>

#include "rules/language/expression_parts.h"

namespace egret::rules::generator {

using ir::Integers;

namespace {

// p[q[0]], p[q[1]], ...; -1 outside of p.
Integers composed(const Integers& p, const Integers& q) {
  Integers result;
  for (const std::int64_t i : q)
    result.push_back(i >= 0 && i < std::ssize(p) ? p[static_cast<std::size_t>(i)] : -1);
  return result;
}

Integers sorted(Integers list) {
  std::ranges::sort(list);
  return list;
}

}  // namespace

std::optional<Expr> permuted_axis(const LeftSide& left, const AttrValues& values) {
  if (!is_constant(values)) return std::nullopt;
  const std::int64_t wanted = std::get<std::int64_t>(values.front());
  for (const auto& [perm_slot, perm] : constant_attributes<Integers>(left, "perm")) {
    for (const auto& [axis_slot, axis] : constant_attributes<std::int64_t>(left, "axis")) {
      if (axis < 0 || axis >= std::ssize(perm)) continue;
      if (perm[static_cast<std::size_t>(axis)] == wanted)
        return call("at", {attribute(perm_slot), attribute(axis_slot)});
      if (wanted >= 0 && wanted < std::ssize(perm) &&
          perm[static_cast<std::size_t>(wanted)] == axis)
        return call("index_of", {attribute(perm_slot), attribute(axis_slot)});
    }
  }
  return std::nullopt;
}

std::optional<Expr> permuted_axes(const LeftSide& left, const AttrValues& values) {
  if (!is_constant(values)) return std::nullopt;
  const auto& wanted = std::get<Integers>(values.front());
  for (const auto& [perm_slot, perm] : constant_attributes<Integers>(left, "perm")) {
    for (const auto& [axes_slot, axes] : constant_attributes<Integers>(left, "axes")) {
      const Expr list = attribute(axes_slot);
      if (sorted(composed(perm, axes)) == wanted)
        return call("sorted", {call("compose", {attribute(perm_slot), list})});
      if (sorted(composed(perm, wanted)) == axes)
        return call("sorted", {call("compose", {call("inverse", {attribute(perm_slot)}), list})});
    }
  }
  return std::nullopt;
}

std::optional<Expr> composed_permutation(const LeftSide& left, const AttrValues& values,
                                         int without) {
  if (!is_constant(values)) return std::nullopt;
  const auto& wanted = std::get<Integers>(values.front());
  Integers identity(wanted.size());
  for (std::size_t i = 0; i < identity.size(); ++i) identity[i] = static_cast<std::int64_t>(i);
  const auto open = constant_attributes<Integers>(left, "perm");
  for (const auto& [slot, perm] : open) {
    if (slot != without && composed(perm, wanted) == identity)
      return call("inverse", {attribute(slot)});
  }
  for (const auto& [slot, perm] : open) {
    for (const auto& [next_slot, next] : open) {
      if (slot == without || next_slot == without) continue;
      if (composed(perm, next) == wanted)
        return call("compose", {attribute(slot), attribute(next_slot)});
    }
  }
  return std::nullopt;
}

}  // namespace egret::rules::generator
