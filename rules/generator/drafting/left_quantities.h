// SPDX-License-Identifier: Apache-2.0
// The integers that the left side of a rule determines: sizes of its tensor variables, integer
// attributes, and elements of list attributes.
#pragma once

#include "rules/generator/drafting/left_side.h"
#include "rules/generator/drafting/openness.h"
#include "rules/generator/drafting/quantities.h"

namespace egret::rules::generator {

// In the order in which expressions look for one that fits: attributes or sizes first, as
// preferred. Refers to names of `left`, which must outlive the result.
Quantities quantities_of(const TermTable& terms, const LeftSide& left, Preference preference);

}  // namespace egret::rules::generator
