// SPDX-License-Identifier: Apache-2.0
// Extraction under side rows: linear constraints on the chosen nodes beyond their children.
// Examples: a limit on total memory; a node that may be chosen only together with another.
//
// Reductions leave the nodes of the rows alone (Core::marked). Rows of few nodes are tables where
// the core is narrow (extract/extractors/elimination.h); otherwise the integer program contains the
// rows.
#pragma once

#include <span>
#include <vector>

#include "extract/core/extractor.h"

namespace egret::extract {

// One constraint: the weights of the chosen nodes add up to at most `most`.
struct SideRow {
  double most = 0;
  std::vector<NodeIndex> nodes;
  std::vector<double> weights;

  void add(NodeIndex node, double weight) {
    nodes.push_back(node);
    weights.push_back(weight);
  }
};

bool keeps_to(std::span<const SideRow> rows, const Solution& solution, const EGraphView& graph);

// The error of extract_within() if it is proven that no choice satisfies the rows.
base::Status infeasible();
bool is_infeasible(const base::Status& status);

// The best choice that satisfies the rows. `known` is an incumbent that does, or nullptr. Errors:
// infeasible() if no choice satisfies them; limit_hit if none was found in time; bad_input if a
// root has no finite term; unavailable in a build without an integer-program solver.
base::Result<Solution> extract_within(const Problem& problem, std::span<const SideRow> rows,
                                      const Options& options, const Solution* known = nullptr);

}  // namespace egret::extract
