// SPDX-License-Identifier: Apache-2.0
// Random attributes for an application of a rule's sources. An attribute that the rule determines
// is computed: from its pattern, from equations among the conditions, from a captured operator. The
// rest are sampled (rules/testing/attribute_sampler.h).
#pragma once

#include <span>

#include "base/random.h"
#include "ir/core/attributes.h"
#include "rules/testing/instance_conditions.h"
#include "rules/testing/shape_draws.h"
#include "rules/testing/source_builder.h"

namespace egret::rules {

class AttributeDraws {
 public:
  AttributeDraws(const InstanceConditions& conditions, const Palette& palette,
                 SourceBuilder& sources, base::Random& random)
      : conditions_(conditions), palette_(palette), sources_(sources), random_(random) {}

  // Sets all attributes of the operator, in this order. Variables that are drawn here are bound in
  // the environment of the sources. `attrs` may hold those of the last try: values drawn later than
  // the one at hand are not read.
  void draw(const Term& term, std::span<const ir::AttrSpec* const> order,
            std::span<const ir::TensorType> types, ir::Attrs& attrs);

 private:
  using Types = std::span<const ir::TensorType>;

  ir::AttrValue draw_one(const Term& term, const ir::AttrSpec& spec, const ir::Attrs& so_far,
                         Types types);
  // Where the rule does not list the attribute.
  ir::AttrValue draw_unlisted(const Term& term, const ir::AttrSpec& spec, const ir::Attrs& so_far,
                              Types types);
  ir::AttrValue draw_variable(int slot, const ir::AttrSpec& spec, const ir::Attrs& so_far,
                              Types types);
  // A pattern [?a, 1, ...]. Variables are axes; sizes if the operator has no operands.
  ir::AttrValue draw_list(const Expr& pattern, const ir::AttrSpec& spec, const ir::Attrs& so_far,
                          Types types);
  std::optional<ir::Integers> draw_usual(const Expr& pattern, const ir::AttrSpec& spec,
                                         const ir::Attrs& so_far, Types types);
  std::int64_t draw_size();

  const InstanceConditions& conditions_;
  const Palette& palette_;
  SourceBuilder& sources_;
  base::Random& random_;
};

}  // namespace egret::rules
