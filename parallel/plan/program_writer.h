// SPDX-License-Identifier: Apache-2.0
// The chosen nodes of a placed e-graph as a program for all ranks.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "egraph/core/view.h"
#include "extract/core/extractor.h"
#include "parallel/placed/placed_egraph.h"
#include "parallel/placed/placed_graph.h"
#include "parallel/plan/pricing.h"

namespace egret::parallel {

struct WrittenProgram {
  PlacedGraph graph;
  std::vector<egraph::ClassId> values;  // of the sequential program, by node
};

// `outputs` are the names of the view's roots. Operators follow the schedule. Collectives that
// enlarge a rank's share come right before their first use, others right after their input.
WrittenProgram write_program(const PlacedEGraph& placed, const egraph::EGraphView& view,
                             const extract::Solution& solution,
                             std::span<const std::string> outputs, std::span<const Carried> carried,
                             const Schedule& schedule);

}  // namespace egret::parallel
