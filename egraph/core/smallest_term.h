// SPDX-License-Identifier: Apache-2.0
// The term with the fewest operators (counted as a tree) of a class. Useful to inspect a result
// after saturation with simplification rules. For real cost models see extract/.
#pragma once

#include <cstdint>
#include <string>

#include "egraph/core/egraph.h"

namespace egret::egraph {

struct SizedTerm {
  std::uint64_t size = 0;  // operators in the tree; saturates at 2^62
  std::string text;        // "(+ a (* b 2))"; empty when longer than max_text
};

// The e-graph must be clean(). Ties go to the first node in class order. O(nodes * depth). A class
// without a finite term (only cyclic or hidden nodes) gives size 0 and no text.
SizedTerm smallest_term(const EGraph& egraph, ClassId id, std::size_t max_text = 1 << 16);

}  // namespace egret::egraph
