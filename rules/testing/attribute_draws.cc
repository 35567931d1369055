// SPDX-License-Identifier: Apache-2.0
#include "rules/testing/attribute_draws.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "rules/language/attribute_pattern.h"
#include "rules/testing/attribute_sampler.h"

namespace egret::rules {

using ir::AttrValue;

void AttributeDraws::draw(const Term& term, std::span<const ir::AttrSpec* const> order, Types types,
                          ir::Attrs& attrs) {
  for (const ir::AttrSpec* spec : order) attrs.set(spec->name, draw_one(term, *spec, attrs, types));
}

AttrValue AttributeDraws::draw_one(const Term& term, const ir::AttrSpec& spec,
                                   const ir::Attrs& so_far, Types types) {
  const Expr* pattern = pattern_of(term, spec.name);
  if (pattern == nullptr) return draw_unlisted(term, spec, so_far, types);
  if (pattern->kind == Expr::Kind::kAttribute)
    return draw_variable(pattern->slot, spec, so_far, types);
  if (pattern->kind == Expr::Kind::kList) return draw_list(*pattern, spec, so_far, types);
  const auto value = evaluate(*pattern, sources_.environment());
  return value && ir::kind_of(*value) == spec.kind ? *value
                                                   : sample_attr(spec, so_far, types, random_);
}

AttrValue AttributeDraws::draw_unlisted(const Term& term, const ir::AttrSpec& spec,
                                        const ir::Attrs& so_far, Types types) {
  if (term.spread == Term::kNoSpread) return *spec.default_value;
  if (const ir::Attrs* captured = sources_.captured(term.spread); captured != nullptr) {
    if (const AttrValue* value = captured->find(spec.name); value != nullptr) return *value;
  }
  return sample_attr(spec, so_far, types, random_);
}

AttrValue AttributeDraws::draw_variable(int slot, const ir::AttrSpec& spec, const ir::Attrs& so_far,
                                        Types types) {
  Environment& environment = sources_.environment();
  auto& bound = environment.attributes[static_cast<std::size_t>(slot)];
  if (bound && ir::kind_of(*bound) == spec.kind) return *bound;
  for (const auto& definition : conditions_.definitions()) {
    if (definition.attribute != slot || random_.chance(0.1)) continue;
    auto value = evaluate(*definition.value, environment);
    // An operator without operands has no sizes to derive a list from; its form is drawn.
    if (!value && types.empty() && definition.value->kind == Expr::Kind::kList)
      value = draw_list(*definition.value, spec, so_far, types);
    if (value && ir::kind_of(*value) == spec.kind) {
      bound = value;
      return *value;
    }
  }
  if (spec.kind == ir::AttrKind::kInteger) bound = conditions_.solve_for(slot, environment);
  const auto texts = conditions_.texts_of(slot);
  if (spec.kind == ir::AttrKind::kText && !texts.empty() && random_.chance(0.8))
    bound = texts[random_.below(texts.size())];
  const auto& landmarks = conditions_.landmarks();
  if (spec.kind == ir::AttrKind::kReal && !landmarks.empty() && random_.chance(0.4))
    bound = landmarks[random_.below(landmarks.size())];
  if (!bound) bound = sample_attr(spec, so_far, types, random_);
  return *bound;
}

// Unbound variables of the list get what an attribute of this name would have there, mostly: a
// reshape's sizes regroup the operand's elements.
AttrValue AttributeDraws::draw_list(const Expr& pattern, const ir::AttrSpec& spec,
                                    const ir::Attrs& so_far, Types types) {
  static const ir::AttrSpec axis{"axis", ir::AttrKind::kInteger, std::nullopt, ""};
  Environment& environment = sources_.environment();
  if (const auto usual = draw_usual(pattern, spec, so_far, types)) {
    for (std::size_t i = 0; i < usual->size(); ++i) {
      const Expr& element = pattern.arguments[i];
      if (element.kind != Expr::Kind::kAttribute) continue;
      auto& bound = environment.attributes[static_cast<std::size_t>(element.slot)];
      if (!bound) bound.emplace((*usual)[i]);
    }
  }
  ir::Integers list;
  for (const Expr& element : pattern.arguments) {
    std::optional<AttrValue> value;
    if (element.kind == Expr::Kind::kAttribute) {
      auto& bound = environment.attributes[static_cast<std::size_t>(element.slot)];
      if (!bound && types.empty()) bound.emplace(std::in_place_type<std::int64_t>, draw_size());
      value = draw_variable(element.slot, axis, {}, types);
    } else {
      value = evaluate(element, environment);
    }
    const auto* integer = value ? std::get_if<std::int64_t>(&*value) : nullptr;
    list.push_back(integer != nullptr ? *integer : draw_size());
  }
  return list;
}

// A usual value of the attribute that has as many elements as the pattern.
std::optional<ir::Integers> AttributeDraws::draw_usual(const Expr& pattern,
                                                       const ir::AttrSpec& spec,
                                                       const ir::Attrs& so_far, Types types) {
  constexpr int kTries = 4;
  const auto is_open = [&](const Expr& element) {
    return element.kind == Expr::Kind::kAttribute &&
           !sources_.environment().attributes[static_cast<std::size_t>(element.slot)];
  };
  if (types.empty() || !std::ranges::any_of(pattern.arguments, is_open)) return std::nullopt;
  for (int i = 0; i < kTries; ++i) {
    AttrValue usual = sample_attr(spec, so_far, types, random_);
    auto* list = std::get_if<ir::Integers>(&usual);
    if (list != nullptr && list->size() == pattern.arguments.size()) return std::move(*list);
  }
  return std::nullopt;
}

std::int64_t AttributeDraws::draw_size() {
  return rules::draw_size(palette_, {{}, sources_.variable_types()}, random_);
}

}  // namespace egret::rules
