// SPDX-License-Identifier: Apache-2.0
// Extraction under a budget: one side row whose weights are not negative.
//
// The row gets a price (Lagrangian relaxation; Everett, 1963): an ordinary extractor minimizes the
// costs plus the price of the weights, and the price is raised until the budget holds. Each price
// gives a lower bound on all answers within the budget. A gap that is left is given to the integer
// program with the row (side_rows.h), which starts from the best answer found.
#pragma once

#include "extract/core/extractor.h"
#include "extract/extractors/side_rows.h"

namespace egret::extract {

// The sum of the row's weights of the chosen nodes.
double weight_of(const SideRow& row, const Solution& solution, const EGraphView& graph);

// `known` keeps to the row, or is null. The bound of the answer holds for all choices that keep to
// it. Errors: infeasible() if none was found to keep to it; bad_input if a root has no finite term.
base::Result<Solution> extract_within_budget(const Problem& problem, const SideRow& row,
                                             const ExtractorRow& extractor, const Options& options,
                                             const Solution* known = nullptr);

}  // namespace egret::extract
