// SPDX-License-Identifier: Apache-2.0
// Concrete instances of a rule: shapes, attributes and types for which its sources are well-typed,
// its conditions hold and its targets have the types of their sources.
//
// Found by guided random search: terms are typed from the leaves up; where an operator refuses its
// inputs, the shapes of the variables that first appear there and the operator's attributes are
// drawn again. Sizes of one instance come from a palette of one to three small numbers, so that
// those that must agree often do, and often do where they need not. Operands are mostly like those
// that the operator is known to accept (rules/testing/signatures.h). What equations among the
// conditions say of an attribute, a constant, a rank, a size or a type is used, not guessed. Sizes
// of variables are at least 1.
//
// Deterministic for a seed.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "ir/graph/graph.h"
#include "ir/graph/type_memo.h"
#include "rules/language/rule.h"
#include "rules/tensors/binding.h"
#include "rules/testing/instance_conditions.h"
#include "rules/testing/known_operators.h"

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
  Choice choice;
  // The rule's attribute variables and captured attributes, by slot.
  std::vector<std::optional<ir::AttrValue>> attributes;
  std::vector<ir::Attrs> spreads;
  // Variables, attributes and shapes, for messages.
  std::string text;
};

class Instantiator {
 public:
  Instantiator(const Rule& rule, KnownOperators& known);

  const Rule& rule() const { return rule_; }
  // One attempt; nullopt when it came to nothing.
  std::optional<Instance> attempt(base::Random random);
  // The instance of these types and attributes, if it is one.
  std::optional<Instance> of(const Choice& choice, base::Random random);

  // The type of an application; nullopt where the operator refuses it or it is too large.
  std::optional<ir::TensorType> type_of(const ir::Operator& op, const ir::Attrs& attrs,
                                        std::span<const ir::TensorType> inputs);
  // Times that type_of() or an instance had to run an operator's definition: other types were
  // remembered.
  std::size_t inferred() const { return types_.inferred(); }
  // The rank that the rule's conditions give a tensor variable.
  std::optional<int> rank_of(int slot) const { return conditions_.rank_of(slot); }

 private:
  class Attempt;

  std::optional<ir::TensorType> chosen_type(const Term& source, const Choice& choice);
  bool types_fit(const Choice& choice);

  const Rule& rule_;
  KnownOperators& known_;
  ir::TypeMemo types_;
  std::map<int, ir::TensorType> bound_;  // sources that have a name, in types_fit()
  InstanceConditions conditions_;
};

}  // namespace egret::rules
