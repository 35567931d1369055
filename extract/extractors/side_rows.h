// SPDX-License-Identifier: Apache-2.0
// Extraction within rows: linear limits on what is chosen together, beyond the classes that nodes
// need. So much memory in all; this node only beside that one.
//
// What rows speak of is left alone by reductions (Core::marked), and the integer program has the
// rows.
#pragma once

#include <span>
#include <vector>

#include "extract/core/extractor.h"

namespace egret::extract {

// The weights of the chosen nodes add up to at most `most`.
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

// The best choice that keeps to the rows. `known` is one that does, to be better than, or nullptr.
// Errors: limit_hit where no choice keeps to them, or none was found in time; bad_input where a
// root has no finite term; unavailable in a build without a solver of integer programs.
base::Result<Solution> extract_within(const Problem& problem, std::span<const SideRow> rows,
                                      const Options& options, const Solution* known = nullptr);

}  // namespace egret::extract
