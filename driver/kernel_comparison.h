// SPDX-License-Identifier: Apache-2.0
// Where time was gained: the kernels of the original and of the result, for a page
// (driver/optimize_page.h).
#pragma once

#include "driver/optimize.h"
#include "ir/graph/graph.h"
#include "rules/tensors/open_sizes.h"

namespace egret::driver {

// OptimizeReport::kernels of a result: measured, if the result was measured on the backend and
// nothing keeps its plans from running again; otherwise the costs of operators. The arguments are
// those of optimize(). Compiles both graphs once more and runs them for a few tenths of a second
// each. A failure of measuring is no failure: the costs are taken.
OptimizeReport::Kernels kernels_of(const ir::Graph& program, const OptimizeResult& result,
                                   const OptimizeOptions& options,
                                   const rules::OpenSizes* open = nullptr);

}  // namespace egret::driver
