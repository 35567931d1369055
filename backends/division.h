// SPDX-License-Identifier: Apache-2.0
// Divisions into kernels (CompileOptions::division) between the graph that is given to a backend
// and the prepared one.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "backends/prepare.h"

namespace egret::backends {

struct PreparedPart {
  std::vector<ir::NodeId> nodes;     // of the prepared graph, ascending
  int part = -1;                     // of the division; -1: an operator that it leaves out
  std::vector<ir::NodeId> stored{};  // besides the last node: values that others read, ascending
  std::optional<KernelLayouts> layouts{};  // that were asked for, or are kept with the graph
};

// Whether one kernel stores all outputs of a graph (JointKernels::stores_together()), for prepared
// ones. Empty: of none.
using StoresTogether = std::function<bool(const ir::Graph&)>;

// The parts of a division as nodes of the prepared graph, in an order of computation. What became a
// constant is in none. A value that is read outside and is not the last of any part is stored by
// the first part that has it, if that is one kernel. Errors: bad_input where a kernel, or the
// caller, would read a value that no part stores, and where two parts have the same last value.
base::Result<std::vector<PreparedPart>> prepared_parts(const PreparedGraph& prepared,
                                                       const Division& division,
                                                       const StoresTogether& together = {});

// The nodes of each part, for backends that compute each value in one kernel. Errors: unsupported
// where a node is in several parts.
base::Result<Division> parts_apart(std::span<const PreparedPart> parts);

// By node: whether it depends on constants alone.
std::vector<bool> computed_once(const ir::Graph& graph);

// Sets PlanReport::Kernel::part by the given nodes that kernels compute; of a node in several
// parts, the first.
void number_parts(PlanReport& report, const Division& division);

// The division of the given graph that kernels of the prepared one make: Backend::divide() of a
// graph that was prepared without folding. A node of the given graph that several kernels compute
// together makes one part of them.
Division given_division(const PreparedGraph& prepared, const Division& kernels);

// A division that is kept with its graph, in its metadata and so in a model file.
//
// Kernels are lists of values' names. Nodes that are in kernels of several operators get a name if
// they have none. A node that is in no list is a kernel of its own, unless it has no name and is
// read by one kernel alone: a model file may join operators of one kernel to one node, and what is
// read then has operators without names.
//
// Layouts, if there are any, are those of kernels by the name of their last value; what a kernel
// reads in another form than it is stored in is copied.
//
// A division is that of one backend; others divide the graph by themselves.
inline constexpr std::string_view kKernelsKey = "egret.kernels";
void store_division(ir::Graph& graph, const Division& division, std::string_view backend,
                    const DivisionLayouts& layouts = {});
// Empty where the graph has none for this backend, or one of another graph or program.
Division stored_division(const ir::Graph& graph, std::string_view backend);
// Of the kernels of stored_division(); empty where the graph says nothing of layouts.
DivisionLayouts stored_layouts(const ir::Graph& graph, const Division& division,
                               std::string_view backend);

// The kernels that a backend makes of a prepared graph by itself: all of its operators, each once.
using DividePrepared = std::function<Division(PreparedGraph)>;

// What compile() divides the prepared graph into: as it was asked for, or as it is kept with the
// graph for this backend. Empty: by the backend itself. A part with a node that the backend divides
// (a composite without a kernel) is there as the kernels that `own` makes of it. Errors: those of
// prepared_parts(), for a division that was asked for.
base::Result<std::vector<PreparedPart>> parts_for(
    const ir::Graph& graph, const PreparedGraph& prepared, const CompileOptions& options,
    std::string_view backend, const DividePrepared& own, const StoresTogether& together = {});

}  // namespace egret::backends
