// SPDX-License-Identifier: Apache-2.0
// The kernels of a graph that holds a forward pass and its gradients.
//
// A value with a name, the result of a product and an output of the graph are stored: a kernel
// writes them, and others read them. The operators between stored values are one kernel, which
// computes what has no name again where a gradient needs it. A change of layout before a product,
// or behind a product without a name, costs nothing: products read and write any layout.
//
// Products are found by their definitions: a sum of products of two elements. Variables of the
// output that occur in both factors are the batch, those of one factor are rows or columns. Of a
// gather's first input, as many elements are read as the gather makes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/graph/graph.h"

namespace egret::parallel {

struct GraphKernel {
  // Of a batch of products [m, k] x [k, n]; 0: not a product.
  double batch = 0, m = 0, n = 0, k = 0;
  double bytes = 0;  // of the distinct stored values that others read, and of those they write
  bool reads_parameters = false;
  std::vector<std::string> makes;  // names of stored values; of a product without a name, none

  bool is_product() const { return batch > 0; }
  double flops() const { return 2 * batch * m * n * k; }
};

struct GraphKernels {
  std::vector<GraphKernel> forward, backward;  // in the order of the graph
  // Of what the forward pass stores or reads, except PARAMETERS, and the backward pass reads.
  double kept_bytes = 0;
};

// Nodes before FORWARD_NODES are of the forward pass. PARAMETERS are inputs. Types are concrete.
// Errors: those of denotations. O(kernels x nodes).
base::Result<GraphKernels> graph_kernels(const ir::Graph& graph, std::size_t forward_nodes,
                                         std::span<const std::string> parameters);

}  // namespace egret::parallel
