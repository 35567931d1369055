// SPDX-License-Identifier: Apache-2.0
// The e-graph of kernels: a class is a value in memory, a node is a piece (pieces.h) that makes it
// from other values in memory. It is an e-graph as any other for the extractors, their bounds and
// their checker. What they choose is a division into kernels, at the least sum of kernels' prices.
//
// A joint piece is the only node of a class of its own. The classes of the values that it stores
// have a node each that takes the value from there, free of charge.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "extract/kernels/pieces.h"

namespace egret::extract {

struct KernelGraph {
  static constexpr std::uint32_t kLeaf = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint32_t kSlice = kLeaf - 1;  // one of the values of a joint piece

  // Its first classes are those of the e-graph that it was made of; joint pieces' follow.
  EGraphView graph;
  std::vector<std::uint32_t> piece;  // by node: the number of the piece, kLeaf or kSlice
  std::vector<NodeIndex> node_of;    // by piece

  bool is_piece(NodeIndex node) const { return piece[node] < kSlice; }
  // Prices by piece as costs by node; leaves and slices are free.
  std::vector<double> costs(const std::vector<double>& prices) const;
  // All leaves, and each value from the piece that is to make it, as chosen nodes.
  struct Maker {
    ClassIndex value;
    std::uint32_t piece;
  };
  std::vector<NodeIndex> choice_of(const Pieces& pieces, std::span<const Maker> makers) const;
  // The makers of all values that are chosen.
  std::vector<Maker> makers_in(std::span<const NodeIndex> choice) const;
};

// O(classes and pieces).
KernelGraph kernel_graph(const EGraphView& graph, const std::vector<bool>& leaves,
                         const Pieces& pieces);

}  // namespace egret::extract
