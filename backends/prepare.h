// SPDX-License-Identifier: Apache-2.0
// The transformations of a graph in compile(), before kernels are chosen.
#pragma once

#include <functional>
#include <vector>

#include "backends/backend.h"
#include "backends/low_precision.h"
#include "base/status.h"
#include "ir/graph/graph.h"

namespace egret::backends {

struct PreparedGraph {
  ir::Graph graph;
  std::vector<ir::NodeId> origin;  // by node: the node of the given graph it computes, or invalid
  std::int64_t folded_nodes = 0;
  std::vector<Lowering> lowerings{};  // of contractions, by node; empty: none
};

// Whether a backend has a kernel for this composite as a whole.
using TakesComposite = std::function<bool(const ir::Graph&, ir::NodeId)>;

// The graph without dead nodes. Composites are replaced by their bodies, except those that the
// backend takes. Nodes that depend on constants only are computed (through a plan of the backend)
// and become constants. Folds also what rules::fold_constants leaves: values that grow too much for
// a model file, and nodes that appear when composites are expanded. The backend's own kernels
// compute them, because the constants stay in this plan. Errors: unsupported for symbolic sizes;
// limit_hit for tensors that no memory holds.
base::Result<PreparedGraph> prepare(const Backend& backend, const ir::Graph& graph,
                                    const CompileOptions& options, const TakesComposite& takes);

// Whether at most one axis is longer than 1.
bool is_vector(const ir::TensorType& type);

// The values of the graph's constants, by node (empty for others); they share memory with the
// graph.
std::vector<ir::Tensor> constants_of(const ir::Graph& graph);
// Moves the constants out of the graph. The graph keeps its structure and the vectors, whose values
// kernel makers read. A sole owner of the result can free a constant as soon as it is packed.
std::vector<ir::Tensor> take_constants(ir::Graph& graph);

}  // namespace egret::backends
