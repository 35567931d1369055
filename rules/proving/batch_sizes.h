// SPDX-License-Identifier: Apache-2.0
// Sizes of a rule's variables along batch axes (ir/analysis/batch_axes.h): the rule computes each
// slice along them alone.
//
// An instance in which some variables have size 1 along a batch axis, and the others size n, is a
// slice-by-slice copy of the instance in which all have size n. The rule therefore holds for all
// these sizes if it holds for equal ones, and a search through the sizes of a kind may keep them
// equal. Without this, a kind has a family for each way to broadcast each axis of each operand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rules/language/rule.h"
#include "rules/testing/instantiation.h"

namespace egret::rules {

struct BatchSizes {
  // By batch axis: names of the sizes along it (rules/testing/instance_numbers.h). The first names
  // the symbol that stands for all of them.
  std::vector<std::vector<std::string>> groups;

  bool empty() const { return groups.empty(); }
  BatchSizes without(std::size_t group) const;
};

// The conditions of a rule that remain true if sizes 1 along an axis become that of the others:
// equations between sizes or types.
bool only_equates_sizes(const Expr& condition);

// The sizes of a kind of instances that may be along batch axes: they are so on one path of the
// kind. Whether they are is decided for each path (rules/proving/generalization.h).
BatchSizes batch_sizes(const Rule& rule, const Instance& like, Instantiator& instantiator);

}  // namespace egret::rules
