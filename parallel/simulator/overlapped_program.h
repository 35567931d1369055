// SPDX-License-Identifier: Apache-2.0
// A placed program whose collectives run beside computation: the order of its nodes, and the
// simulated seconds.
#pragma once

#include "base/status.h"
#include "parallel/machine/cluster.h"
#include "parallel/placed/placed_graph.h"

namespace egret::parallel {

// The same program in the order of a list schedule: of the nodes whose operands are there, a device
// computes the one with the longest path to the end, and so do the links of each axis (Graham,
// "Bounds on multiprocessing timing anomalies", 1969). Updates of parameters thus do not wait for
// their gradients before other gradients are computed. Values may live longer.
// O(nodes log nodes). Errors: those of ProgramPrices.
base::Result<PlacedGraph> ordered_for_overlap(const PlacedGraph& plan, const Cluster& machine);

// The simulated seconds of a program, after REORDER in the order above. It suits
// ParallelPlanOptions::simulate. Errors: those of simulate_plan().
base::Result<double> overlapped_seconds(PlacedGraph& program, const Cluster& machine, bool reorder);

}  // namespace egret::parallel
