// SPDX-License-Identifier: Apache-2.0
// How much an operator computes and moves, derived from its denotation.
//
//   flops          arithmetic operations on element values: + - * / neg min max and calls of opaque
//                  functions count 1 each, a reduction 1 for each term. Counted as a compiler would
//                  execute the definition: what does not depend on a reduction's variable is taken
//                  out of that reduction, equal subexpressions are computed once. Guards count as
//                  always true (a padded convolution is billed for its padding, as is usual) and
//                  both arms of a select are billed; index arithmetic is free. A reduction whose
//                  extent varies is billed for its extent in the middle of the ranges.
//   bytes_read     each input once, or as many elements as are read where that is fewer (slice,
//                  gather).
//   bytes_written  the output.
// A composite has the flops of its body, but reads its inputs and writes its output alone: the
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
// Of an operator node of the graph.
base::Result<Work> work_of(const Graph& graph, const Node& node);

}  // namespace egret::ir
