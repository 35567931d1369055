// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string_view>

#include "rules/language/rule.h"

namespace egret::rules {

// The pattern that a source term states for an attribute of its operator; nullptr if it states
// none.
inline const Expr* pattern_of(const Term& term, std::string_view attribute) {
  const auto listed = std::ranges::find(term.attrs, attribute, &Term::Attr::name);
  return listed != term.attrs.end() ? &listed->value : nullptr;
}

}  // namespace egret::rules
