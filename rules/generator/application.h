// SPDX-License-Identifier: Apache-2.0
// When is a proven rule worth applying? An optimizer's e-graph is small, and most true equations
// only make programs longer. What depends on weights alone is computed once, before the first run;
// so a rule that is a loss as it stands may be a gain where some of its variables are weights:
//
//   matmul(?x, add(?a, ?b))  from  add(matmul(?x, ?a), matmul(?x, ?b))   always
//   matmul(?x, concat{axis=1}(?a, ?b))  from  concat{axis=1}(matmul(?x, ?a), matmul(?x, ?b))
//                                       where ?a and ?b are weights
//
// The price of a side is the sum over its operators that do not depend on weights alone: most for
// what combines two tensors over a sum, less for other arithmetic, least for what only moves
// elements (prices by the operators' definitions: ir/nest/work.h); among equals the work decides. A
// rule is worth it where its right side costs less than its left side: the least sets of variables
// for which that holds become the rule's `heuristic`. So regrouping a sum asks that two of its
// terms be weights. An equation that never gains is worth it where it never loses either, for what
// it prepares. All others are tagged `extra`: true, proven, of use to derive other rules, and not
// applied by default. No rule is applied to what depends on weights alone.
//
// The idea that operators of constants are free is TENSAT's (Yang et al., MLSys 2021, section 5);
// deriving conditions of use from it is ours.
#pragma once

#include "rules/language/rule.h"
#include "rules/testing/instantiation.h"

namespace egret::rules::generator {

// The rule with heuristics more, or with the tag `extra`.
Rule with_worth(Rule rule, KnownOperators& known);

}  // namespace egret::rules::generator
