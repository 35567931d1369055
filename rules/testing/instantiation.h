// SPDX-License-Identifier: Apache-2.0
// Concrete instances of a rule: shapes, attributes and types for which its sources are well-typed,
// its conditions hold and its targets have the types of their sources.
//
// Found by guided random search. Sources are typed from the leaves up
// (rules/testing/source_builder.h). Where an operator refuses its inputs, the types of the
// variables that first occur there (rules/testing/operand_draws.h) and the operator's attributes
// (rules/testing/attribute_draws.h) are drawn again. What the conditions determine is computed and
// not drawn: attributes, constants, ranks, sizes and types that equations give
// (rules/testing/instance_conditions.h). Sizes of variables are at least 1 unless asked for.
//
// Deterministic for a seed.
#pragma once

#include <map>
#include <optional>
#include <span>

#include "base/random.h"
#include "ir/graph/type_memo.h"
#include "rules/language/rule.h"
#include "rules/testing/instance.h"
#include "rules/testing/instance_conditions.h"
#include "rules/testing/known_operators.h"
#include "rules/testing/source_builder.h"

namespace egret::rules {

class Instantiator {
 public:
  // Both outlive the instantiator.
  Instantiator(const Rule& rule, KnownOperators& known, Sizes sizes = Sizes::kPositive);

  const Rule& rule() const { return rule_; }
  Sizes sizes() const { return sizes_; }
  // One attempt; nullopt when it finds no instance. Bounded: each application is tried a constant
  // number of times.
  // `rank`: of most variables, drawn for each otherwise.
  std::optional<Instance> attempt(base::Random random, std::optional<int> rank = std::nullopt);
  // One attempt at sources that are well-typed, whose ranks and element types satisfy the
  // conditions on these alone. Other conditions and the targets have no effect
  // (SourceBuilder::run_sources()).
  std::optional<Instance> attempt_sources(base::Random random);
  // Returns the instance with these types and attributes, or nullopt if they are no instance. No
  // tensor may have more elements.
  std::optional<Instance> of(const Choice& choice, base::Random random) {
    return of(choice, random, kMostElements);
  }
  std::optional<Instance> of(const Choice& choice, base::Random random, std::int64_t most_elements);
  // With these numbers, by slot, as the elements of constants; what conditions determine is
  // computed. nullopt if one is missing or of another type.
  std::optional<Instance> of(const Choice& choice, const std::map<int, double>& splats,
                             std::int64_t most_elements);

  // Returns the type of an application, or nullopt if the operator refuses it or it is too large.
  std::optional<ir::TensorType> type_of(const ir::Operator& op, const ir::Attrs& attrs,
                                        std::span<const ir::TensorType> inputs);
  // How often type_of() or an instance ran an operator's definition: other types were remembered.
  std::size_t inferred() const { return types_.inferred(); }
  // Returns the rank that the rule's conditions give a tensor variable.
  std::optional<int> rank_of(int slot) const { return conditions_.rank_of(slot); }

 private:
  std::optional<ir::TensorType> chosen_type(const Term& source, const Choice& choice);
  bool types_fit(const Choice& choice);
  std::optional<Instance> built(const Choice& choice, std::int64_t most_elements,
                                SourceBuilder::SplatOf splat_of);

  const Rule& rule_;
  KnownOperators& known_;
  const Sizes sizes_;
  ir::TypeMemo types_;
  std::int64_t most_elements_ = kMostElements;
  std::map<int, ir::TensorType> bound_;  // named sources, in types_fit()
  InstanceConditions conditions_;
  InstanceConditions structure_;
};

}  // namespace egret::rules
