// SPDX-License-Identifier: Apache-2.0
// The e-graph of kernels: a class is a value in memory, a node is a piece (pieces.h) that makes it
// from other values in memory. It is an e-graph as any other for the extractors, their bounds and
// their checker. What they choose is a division into kernels, at the least sum of kernels' prices.
//
// A joint piece is the only node of a class of its own. The classes of the values that it stores
// have a node each that takes the value from there, free of charge.
//
// A value may be in memory in several forms, such as layouts. A class is then a value in a form: it
// holds the pieces that store it so, and a node for each other form of the value, which copies it
// from there at a price of its own. What exists before kernels run, and the roots, are in form 0.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "extract/kernels/pieces.h"

namespace egret::extract {

struct KernelGraph {
  static constexpr std::uint32_t kLeaf = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint32_t kSlice = kLeaf - 1;   // one of the values of a joint piece
  static constexpr std::uint32_t kCopied = kLeaf - 2;  // from another form of the value
  static constexpr ClassIndex kNoValue = std::numeric_limits<ClassIndex>::max();

  // A copy of a value of the e-graph that this one was made of.
  struct Copy {
    ClassIndex value;
    std::uint32_t from, to;
    NodeIndex node;
  };

  // Its first classes are those of the e-graph that it was made of, in form 0; other forms follow,
  // then joint pieces.
  EGraphView graph;
  std::vector<std::uint32_t> piece;  // by node: the number of the piece, or one of the above
  std::vector<NodeIndex> node_of;    // by piece
  std::vector<std::uint32_t> copy;   // by node that is kCopied: its place in `copies`; others: 0
  std::vector<Copy> copies;
  // By class: that of the e-graph that it was made of; of a joint piece's: kNoValue.
  std::vector<ClassIndex> value;
  std::map<std::pair<ClassIndex, std::uint32_t>, ClassIndex> in_form;  // by value and form above 0

  bool has_forms = false;

  bool is_piece(NodeIndex node) const { return piece[node] < kCopied; }
  // The class of the value in this form; in form 0 where it has no others.
  ClassIndex class_of(ClassIndex of, std::uint32_t form) const {
    const auto found = in_form.find({of, form});
    return found != in_form.end() ? found->second : of;
  }
  // Prices by piece, and by copy, as costs by node; leaves and slices are free.
  std::vector<double> costs(const std::vector<double>& prices,
                            const std::vector<double>& copy_prices = {}) const;
  // All leaves, and each value from the piece that is to make it, as chosen nodes. Values that no
  // piece makes in a form are copied from one in which a piece does.
  struct Maker {
    ClassIndex value;  // of the e-graph that this one was made of
    std::uint32_t piece;
  };
  std::vector<NodeIndex> choice_of(const Pieces& pieces, std::span<const Maker> makers) const;
  // The makers of all values that are chosen, in any form.
  std::vector<Maker> makers_in(std::span<const NodeIndex> choice) const;
};

// `formed`, by class: whether its value has several forms; empty: none has. Then a piece reads it
// in Piece::reads and stores it in Piece::writes, else in form 0.
// O(classes * forms^2 + pieces), up to logarithms.
KernelGraph kernel_graph(const EGraphView& graph, const std::vector<bool>& leaves,
                         const Pieces& pieces, const std::vector<bool>& formed = {});

}  // namespace egret::extract
