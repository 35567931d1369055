// SPDX-License-Identifier: Apache-2.0
// Rules of any rank. If both sides of a rule apply elementwise operators alone (ir/analysis/
// elementwise.h), then an element of either side is a function of the variables' elements at one
// place, whatever the ranks and sizes, because broadcasting a tensor twice gives the place that
// broadcasting it once gives. The two functions are those of tensors of rank 0. A proof for rank 0
// is therefore a proof for every rank and size, as far as the rule's types fit.
//
// The rule on scalars keeps the conditions that do not depend on shapes. Without the others it
// claims more, so its proof suffices.
//
// Other rules follow for higher ranks from a proof for lower ones, if the first axis of the tensors
// of the highest rank is a batch axis (rules/proving/batch_sizes.h): each slice along it is an
// instance of one rank less.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "rules/language/rule.h"
#include "rules/testing/instance.h"
#include "rules/testing/known_operators.h"

namespace egret::rules {

// The rule for variables of rank 0. nullopt if it cannot stand for the rule at all ranks: an
// operator is known to refuse rank 0, or an attribute is computed from a shape.
std::optional<Rule> on_scalars(const Rule& rule, KnownOperators& known);

// Whether the operators of instances are elementwise.
class ElementwiseCheck {
 public:
  // Both sides, of an instance of on_scalars().
  bool holds(const Rule& rule, const Instance& instance);

 private:
  std::map<std::string, bool> known_;  // by operator, attributes and element types
};

// Whether slices along a first axis satisfy the rule's conditions if the whole does, and have the
// same attributes: the rule counts axes from the last and names no rank.
bool is_free_of_ranks(const Rule& rule);

}  // namespace egret::rules
