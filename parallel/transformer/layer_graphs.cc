// SPDX-License-Identifier: Apache-2.0
#include "parallel/transformer/layer_graphs.h"

#include <algorithm>

namespace egret::parallel {

base::Result<SegmentKernels> segment_kernels(const ir::Graph& graph, std::size_t forward_nodes,
                                             std::span<const std::string> weights,
                                             std::span<const std::string> core,
                                             std::span<const std::string> ring) {
  SegmentKernels segment;
  EGRET_ASSIGN_OR_RETURN(segment.kernels, graph_kernels(graph, forward_nodes, weights));
  segment.weights.assign(weights.begin(), weights.end());
  segment.core.assign(core.begin(), core.end());
  for (const ir::NodeId input : graph.inputs()) {
    const ir::Node& node = graph.node(input);
    if (node.type.rank() > 1 && std::ranges::find(weights, node.name) != weights.end())
      segment.weight_elements += static_cast<double>(node.type.elements());
    if (std::ranges::find(ring, node.name) != ring.end())
      segment.ring_bytes += static_cast<double>(node.type.bytes());
  }
  return segment;
}

}  // namespace egret::parallel
