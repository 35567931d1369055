// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "extract/extractor.h"

namespace egret::extract {

// Least DAG cost, proven where time allows: reductions, then local search for an answer to compare
// with, then more reductions, and an integer program for each part that is left. The best answer so
// far and the proven bound where time runs out. usage_error when the build has no solver.
base::Result<Solution> extract_exactly(const Problem& problem, const Options& options);
// The same with CBC, where extract_exactly() would take a better solver.
base::Result<Solution> extract_exactly_with_cbc(const Problem& problem, const Options& options);

// extract_exactly() where the build has a solver, local search otherwise.
base::Result<Solution> extract_auto(const Problem& problem, const Options& options);

}  // namespace egret::extract
