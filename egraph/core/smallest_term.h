// SPDX-License-Identifier: Apache-2.0
// The term with the fewest operators (counted as a tree) that a class contains; what one wants to
// see after saturating with simplification rules. Costs that mean something are extract/'s matter.
#pragma once

#include <cstdint>
#include <string>

#include "egraph/core/egraph.h"

namespace egret::egraph {

struct SizedTerm {
  std::uint64_t size = 0;  // operators in the tree; saturates at 2^62
  std::string text;        // "(+ a (* b 2))"; empty when longer than max_text
};

// The e-graph must be clean(). Ties go to the first node in class order. O(nodes * depth). Classes
// all of whose terms are infinite (only cyclic or hidden nodes) give size 0 and no text.
SizedTerm smallest_term(const EGraph& egraph, ClassId id, std::size_t max_text = 1 << 16);

}  // namespace egret::egraph
