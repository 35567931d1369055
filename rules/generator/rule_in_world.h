// SPDX-License-Identifier: Apache-2.0
// Two terms that are equal at the sizes of one world, as rules about these sizes alone: attributes
// are numbers, variables of the types that they have there. Nothing is proven of them; within that
// world they say what a comparison by fingerprints says.
#pragma once

#include <vector>

#include "ir/graph/graph.h"
#include "rules/language/rule.h"

namespace egret::rules::generator {

// `sides` has two outputs, as sides_in_world() makes them. Either direction whose right side has no
// variable that its left side has not; none of a side that is a variable.
std::vector<Rule> rules_in_world(const ir::Graph& sides);

}  // namespace egret::rules::generator
