// SPDX-License-Identifier: Apache-2.0
// Pieces of a tensor e-graph (extract/kernels/pieces.h) as graphs, and choices of pieces as
// programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "base/status.h"
#include "extract/kernels/kernel_graph.h"
#include "extract/kernels/pieces.h"
#include "ir/graph/graph.h"
#include "rules/tensors/tensor_egraph.h"

namespace egret::driver {

// The e-node of a view's node. O(1).
egraph::NodeId node_in(const rules::TensorEGraph& tensors, const egraph::EGraphView& view,
                       extract::NodeIndex node);

// The node of an e-node; nothing where the view lacks it. O(log classes + nodes of the class).
std::optional<extract::NodeIndex> view_node(const rules::TensorEGraph& tensors,
                                            const egraph::EGraphView& view, egraph::NodeId node);

// What exists before the first kernel runs, by class: inputs, and what depends on weights alone.
std::vector<bool> leaves_of(const rules::TensorEGraph& tensors, const egraph::EGraphView& view);

// What one kernel computes, as a graph of its own, whose outputs are the root and what else it
// stores. The values that it reads are inputs, or constants where they depend on weights alone;
// those that are computed from weights are zeros.
base::Result<ir::Graph> graph_of(const rules::TensorEGraph& tensors, const egraph::EGraphView& view,
                                 const extract::Piece& piece);

// "conv{..}(f32[1,3,8,8], f32[4,3,3,3] const) relu(%0)": pieces of the same text do the same work.
std::string text_of(const ir::Graph& piece);

// Tells pieces of equal texts apart from others, without making graphs.
class PieceShapes {
 public:
  PieceShapes(const rules::TensorEGraph& tensors, const egraph::EGraphView& view);
  // Equal only for pieces that do the same work. Scalars that are known count with their values.
  std::vector<std::uint32_t> shape(const extract::Piece& piece) const;

 private:
  const egraph::EGraphView& view_;
  std::vector<std::uint32_t> kinds_;  // by class: its type, and whether it depends on weights alone
};

// The forms of pieces and copies are those of layouts.
backends::LayoutForm layout_form(std::uint32_t form);
backends::KernelLayouts layouts_of(const extract::Piece& piece);

// A program that was divided into kernels.
struct DividedGraph {
  ir::Graph graph{};
  std::vector<egraph::NodeId> origins{};  // by node; invalid for inputs
  backends::Division division{};
  std::vector<std::uint32_t> pieces{};  // the number of each kernel's piece
  // Where layouts were chosen: those of the kernels, and the copies between them with their numbers
  // in KernelGraph::copies.
  backends::DivisionLayouts layouts{};
  std::vector<std::uint32_t> copies{};
  // As it was extracted from the e-graph, before constants were folded; null: `graph` is.
  std::shared_ptr<const ir::Graph> extracted{};
};

// The program of a choice of nodes of the e-graph of kernels. Errors: internal_error for a choice
// that is no answer.
base::Result<DividedGraph> divided_graph(const rules::TensorEGraph& tensors,
                                         const egraph::EGraphView& view,
                                         const std::vector<bool>& leaves,
                                         const extract::Pieces& pieces,
                                         const extract::KernelGraph& kernels,
                                         std::span<const extract::NodeIndex> choice);

// The kernels of a divided program of this e-graph as pieces: `origins` are the e-nodes of its
// nodes. Nothing where a node is not of this view, or where a kernel computes a class twice.
std::optional<std::vector<extract::Piece>> pieces_of(const rules::TensorEGraph& tensors,
                                                     const egraph::EGraphView& view,
                                                     const std::vector<bool>& leaves,
                                                     std::span<const egraph::NodeId> origins,
                                                     const backends::Division& division);

// Adds those that are not there, and returns the numbers of all of them, in their order. O(pieces)
// for each.
std::vector<std::uint32_t> add_pieces(const egraph::EGraphView& view,
                                      std::vector<extract::Piece> added, extract::Pieces& pieces);

// The same with its constants folded: `folded` computes the same as `divided.graph`.
DividedGraph carried_over(const DividedGraph& divided, ir::Graph folded);

}  // namespace egret::driver
