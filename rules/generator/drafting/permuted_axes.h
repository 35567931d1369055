// SPDX-License-Identifier: Apache-2.0
// Axes, lists of axes and permutations, written as images of attribute variables of the left side
// under its open permutations: at(?perm, ?axis), sorted(compose(?perm, ?axes)), inverse(?perm).
// Only attributes that are the same in all worlds are considered.
#pragma once

#include <optional>

#include "rules/generator/drafting/left_side.h"

namespace egret::rules::generator {

// An axis: where an open permutation puts an open axis, or takes it from.
std::optional<Expr> permuted_axis(const LeftSide& left, const AttrValues& values);

// A sorted list of axes: an open list, mapped by an open permutation or by its inverse.
std::optional<Expr> permuted_axes(const LeftSide& left, const AttrValues& values);

// A permutation: the inverse of an open one, or the composition of two. The attribute variable
// `without` is not used.
std::optional<Expr> composed_permutation(const LeftSide& left, const AttrValues& values,
                                         int without = -1);

}  // namespace egret::rules::generator
