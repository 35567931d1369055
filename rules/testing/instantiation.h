// SPDX-License-Identifier: Apache-2.0
// Concrete instances of a rule: shapes, attributes and types for which its sources are well-typed,
// its conditions hold and its targets have the types of their sources.
//
// A guided random search finds them. Terms are typed from the leaves up. If an operator refuses its
// inputs, the shapes of the variables that first appear there and the operator's attributes are
// drawn again. The sizes of one instance are drawn from one to three small numbers, so that sizes
// that must agree often do, and so do others. Most operands are like those that the operator is
// known to accept (rules/testing/signatures.h). If an equation among the conditions determines an
// attribute, a constant, a rank, a size or a type, it is computed instead of guessed. Sizes of
// variables are at least 1.
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

// The choices of an instance: the types of the rule's tensor variables, and the attributes of each
// application among its sources.
struct Choice {
  std::map<int, ir::TensorType> variables;  // by slot
  std::map<const Term*, ir::Attrs> attrs;
};

// Returns the applications among the sources, in the order of the rule. They are the keys of
// Choice::attrs.
std::vector<const Term*> source_applications(const Rule& rule);

struct Instance {
  // Both sides over the same inputs, which are the rule's tensor variables, by their names. The
  // outputs are the rewritten sources (left) and their targets (right), in the same order.
  ir::Graph left;
  ir::Graph right;
  // For each input, the value of all its elements, if the conditions require a splat.
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
  // Makes one attempt. Returns nullopt if it fails.
  std::optional<Instance> attempt(base::Random random);
  // Returns the instance with these types and attributes, or nullopt if they are no instance.
  std::optional<Instance> of(const Choice& choice, base::Random random);

  // Returns the type of an application, or nullopt if the operator refuses it or it is too large.
  std::optional<ir::TensorType> type_of(const ir::Operator& op, const ir::Attrs& attrs,
                                        std::span<const ir::TensorType> inputs);
  // Returns how often type_of() or an instance ran an operator's definition. All other types were
  // cached.
  std::size_t inferred() const { return types_.inferred(); }
  // Returns the rank that the rule's conditions give a tensor variable.
  std::optional<int> rank_of(int slot) const { return conditions_.rank_of(slot); }

 private:
  class Attempt;

  std::optional<ir::TensorType> chosen_type(const Term& source, const Choice& choice);
  bool types_fit(const Choice& choice);

  const Rule& rule_;
  KnownOperators& known_;
  ir::TypeMemo types_;
  std::map<int, ir::TensorType> bound_;  // named sources, in types_fit()
  InstanceConditions conditions_;
};

}  // namespace egret::rules
