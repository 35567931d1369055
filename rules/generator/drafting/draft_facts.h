// SPDX-License-Identifier: Apache-2.0
// Facts on what the left side of a rule leaves open that hold in all worlds: candidates for the
// rule's conditions.
#pragma once

#include <vector>

#include "rules/generator/drafting/left_side.h"
#include "rules/generator/drafting/quantities.h"

namespace egret::rules::generator {

struct AttributeFacts {
  // Of each attribute variable, the equations that determine it.
  std::vector<std::vector<Expr>> alternatives;
  // Lists that only other lists determine: their values in the first world.
  std::vector<Expr> first_world;
};
AttributeFacts attribute_facts(const LeftSide& left, const Quantities& quantities);

// same_type(?x, ?y) of variables whose start tensors have one type: a chain.
std::vector<Expr> same_type_facts(const TermTable& terms, const LeftSide& left);

// Sizes that are numbers or agree with each other in all worlds: a spanning chain of equations.
std::vector<Expr> size_facts(const TermTable& terms, const LeftSide& left);

// ?axis != ?axis2 and not contains(?axes, ?axis) of open axes that differ.
std::vector<Expr> distinct_axes(const LeftSide& left);

}  // namespace egret::rules::generator
