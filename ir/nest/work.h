// SPDX-License-Identifier: Apache-2.0
// Arithmetic and memory traffic of an operator, derived from its denotation.
//
//   flops          arithmetic operations on element values: + - * / neg min max and calls of opaque
//                  functions count 1 each, a reduction 1 for each term. Counted as a compiler would
//                  execute the definition: expressions that do not depend on a reduction's variable
//                  are hoisted out of it, equal subexpressions are computed once. Guards count as
//                  always true (a padded convolution pays for its padding, as is usual) and both
//                  arms of a select count; index arithmetic is free. A reduction whose extent
//                  varies counts its extent in the middle of the ranges.
//   bytes_read     each input once, or the elements read where they are fewer (slice, gather).
//   bytes_written  the output.
// A composite has the flops of its body, but reads only its inputs and writes only its output: the
// roofline of a perfectly fused kernel.
#pragma once

#include <span>

#include "base/status.h"
#include "ir/core/attributes.h"
#include "ir/graph/graph.h"
#include "ir/graph/operator.h"

namespace egret::ir {

struct Work {
  double flops = 0;
  double bytes_read = 0;
  double bytes_written = 0;
};

// `types` are concrete, `attrs` canonical. Linear in the size of the denotation.
base::Result<Work> work_of(const Operator& op, const Attrs& attrs,
                           std::span<const TensorType> types);
// The work of an operator node of the graph.
base::Result<Work> work_of(const Graph& graph, const Node& node);

}  // namespace egret::ir
