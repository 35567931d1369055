// SPDX-License-Identifier: Apache-2.0
// The e-graph of kernels: a class is a value in memory, a node is a piece (pieces.h) that makes it
// from other values in memory. It is an e-graph as any other for the extractors, their bounds and
// their checker. What they choose is a division into kernels, at the least sum of kernels' prices.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "extract/kernels/pieces.h"

namespace egret::extract {

struct KernelGraph {
  static constexpr std::uint32_t kLeaf = std::numeric_limits<std::uint32_t>::max();

  EGraphView graph;                  // its classes are those of the e-graph that it was made of
  std::vector<std::uint32_t> piece;  // by node: the number of the piece, or kLeaf

  // Prices by piece as costs by node; leaves are free.
  std::vector<double> costs(const std::vector<double>& prices) const;
};

// O(classes and pieces).
KernelGraph kernel_graph(const EGraphView& graph, const std::vector<bool>& leaves,
                         const Pieces& pieces);

}  // namespace egret::extract
