// SPDX-License-Identifier: Apache-2.0
// A concrete instance of a rule, and the choice of types and attributes that determines it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/analysis/sign.h"
#include "ir/graph/graph.h"
#include "rules/language/rule.h"

namespace egret::rules {

// What an instance chose: the types of the rule's tensor variables, and the attributes of each
// application among its sources.
struct Choice {
  std::map<int, ir::TensorType> variables;  // by slot
  std::map<const Term*, ir::Attrs> attrs;
};

// The applications among the sources, in the order of the rule: the keys of Choice::attrs.
std::vector<const Term*> source_applications(const Rule& rule);

struct Instance {
  // Both sides over the same inputs: the rule's tensor variables, by their names. Outputs are the
  // rewritten sources, and their targets in the same order.
  ir::Graph left;
  ir::Graph right;
  // For each input, the number that all its elements must be, if the conditions want one.
  std::vector<std::optional<double>> splats;
  // For each input, the sign of all its elements, if the conditions want one.
  std::vector<ir::Sign> signs;
  Choice choice;
  // The rule's attribute variables and captured attributes, by slot.
  std::vector<std::optional<ir::AttrValue>> attributes;
  std::vector<ir::Attrs> spreads;
  // Variables, attributes and shapes, for messages.
  std::string text;
};

// The largest rank of a variable.
int rank_of(const Choice& choice);
// Whether an output of the left side has elements. Every claim about others is true.
bool has_elements(const Instance& instance);

}  // namespace egret::rules
