// SPDX-License-Identifier: Apache-2.0
// The denotation of a region of a graph. Where a definition reads a value that the region computes,
// that value's own definition replaces the read, at the indices of the read. Softmax, a chain of
// pointwise operators or a norm thus becomes one definition, and every analysis of definitions
// (interpreter, work, loops) applies to regions too.
#pragma once

#include <span>
#include <vector>

#include "base/status.h"
#include "ir/graph/definition.h"
#include "ir/graph/graph.h"

namespace egret::backends::codegen {

struct Composition {
  ir::Denotation denotation;       // of the last node of the region
  std::vector<ir::NodeId> inputs;  // input numbers of its reads: values from outside, each once
};

// `region`: primitive operators of `graph`, ascending; only the last one's value is needed outside.
// Real values inside are not rounded to f32 (f16 and bf16 are, as part of their meaning). Errors:
// those of ir::denote(); unsupported when the expression nests too deep. Time: linear in the size
// of the result, in which a value read at k different places stands k times.
base::Result<Composition> compose(const ir::Graph& graph, std::span<const ir::NodeId> region);

}  // namespace egret::backends::codegen
