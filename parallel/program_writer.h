// SPDX-License-Identifier: Apache-2.0
// The chosen nodes of a placed e-graph as a program for all ranks.
#pragma once

#include <span>
#include <string>

#include "base/status.h"
#include "egraph/view.h"
#include "extract/extractor.h"
#include "parallel/placed_egraph.h"
#include "parallel/placed_graph.h"
#include "parallel/pricing.h"

namespace egret::parallel {

// `outputs` are the names of the view's roots. Children come before parents, depth first.
PlacedGraph write_program(const PlacedEGraph& placed, const egraph::EGraphView& view,
                          const extract::Solution& solution, std::span<const std::string> outputs,
                          std::span<const Carried> carried);

}  // namespace egret::parallel
