// SPDX-License-Identifier: Apache-2.0
// Divisions into kernels (CompileOptions::division) between the graph that is given to a backend
// and the prepared one.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "backends/prepare.h"

namespace egret::backends {

struct PreparedPart {
  std::vector<ir::NodeId> nodes;  // of the prepared graph, ascending
  int part = -1;                  // of the division; -1: an operator that it leaves out
};

// The parts of a division as nodes of the prepared graph, in an order of computation. What became a
// constant is in none. Errors: bad_input where a kernel, or the caller, would read a value that is
// not the last of any part.
base::Result<std::vector<PreparedPart>> prepared_parts(const PreparedGraph& prepared,
                                                       const Division& division);

// By node: whether it depends on constants alone.
std::vector<bool> computed_once(const ir::Graph& graph);

// The nodes of the given graph that each kernel computes.
std::vector<ir::NodeId> given_nodes(const PreparedGraph& prepared,
                                    std::span<const ir::NodeId> nodes);

// A division that is kept with its graph, in its metadata and so in a model file.
//
// Kernels are lists of values' names. Nodes that are in kernels of several operators get a name if
// they have none. A node that is in no list is a kernel of its own, unless it has no name and is
// read by one kernel alone: a model file may join operators of one kernel to one node, and what is
// read then has operators without names.
inline constexpr std::string_view kKernelsKey = "egret.kernels";
void store_division(ir::Graph& graph, const Division& division);
// Empty where the graph has none, or one of another graph or program.
Division stored_division(const ir::Graph& graph);

}  // namespace egret::backends
