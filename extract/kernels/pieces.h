// SPDX-License-Identifier: Apache-2.0
// Kernels as parts of an e-graph.
//
// A piece is what one kernel computes: a node of some class with, for some of its operands, the
// nodes that compute them, and so on. It reads the values of other classes from memory and stores
// the value of its root. What is inside may differ from piece to piece, also where it belongs to
// one class, and is computed again where another kernel needs it too. A joint piece stores further
// values (joint_pieces.h).
//
// Enumerating pieces is the enumeration of cuts in technology mapping, with equal forms as choices
// (Mishchenko, Chatterjee, Brayton: "DAG-aware AIG rewriting", DAC 2006, and "Combinational and
// sequential mapping with priority cuts", ICCAD 2007).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "extract/core/extractor.h"

namespace egret::extract {

// Invariants:
//   1. `nodes` has one node of each class inside, operands before what reads them. The last is of
//      the root.
//   2. Every node inside is the root, is in `stored`, or has a reader inside.
struct Piece {
  std::vector<NodeIndex> nodes{};
  std::vector<ClassIndex> inputs{};  // that kernels make, ascending, each once
  std::vector<NodeIndex> stored{};   // whose values are stored besides the root's, ascending
  // The forms (kernel_graph.h) of all values that it reads and have some, and of what it stores.
  std::uint32_t reads = 0, writes = 0;

  NodeIndex root() const { return nodes.back(); }
  bool is_joint() const { return !stored.empty(); }
};

struct PieceOptions {
  // Whether one kernel may compute these nodes. Not asked of single nodes.
  std::function<bool(const Piece&)> is_kernel;
  // An estimate of the kernel's time, by which pieces are kept.
  std::function<double(const Piece&)> price;
  std::size_t tried = 48;  // questions about the pieces of one class, at most
  std::size_t kept = 12;   // pieces of one class, besides the single nodes
  std::function<bool()> should_stop;
};

// Pieces have numbers, which stay while others are added.
struct Pieces {
  std::vector<Piece> all;
  // By class of the root, for each class that the roots may need, besides leaves. Without joint
  // pieces.
  std::vector<std::vector<std::uint32_t>> of_class;
  // By number: the pieces that a joint one was made of, none for others.
  std::vector<std::vector<std::uint32_t>> parts;
  std::uint64_t refused = 0;  // by is_kernel
  std::uint64_t dropped = 0;  // kernels beyond `kept`, and questions beyond `tried`

  std::uint32_t add(ClassIndex root, Piece piece);
  std::uint32_t add_joint(Piece piece, std::vector<std::uint32_t> made_of);
};

// `leaves`, by class: what exists before kernels run (inputs, constants). No piece contains it.
// `costs`, by node: infinite for what no piece may contain; others order the search. Where a class
// has pieces with the same inputs, each is kept: their prices are only known once they are
// measured.
// Time: O(classes * tried * (is_kernel + the size of a piece)).
Pieces find_pieces(const Problem& problem, const std::vector<bool>& leaves,
                   const PieceOptions& options);

// The nodes as a piece; no nodes where they form a cycle. `nodes` has one node of each class; the
// root's is the first. Nodes that the root does not need are left out, unless they are `stored` or
// a stored value needs them.
Piece piece_of(const EGraphView& graph, const std::vector<bool>& leaves,
               std::span<const NodeIndex> nodes, std::vector<NodeIndex> stored = {});

}  // namespace egret::extract
