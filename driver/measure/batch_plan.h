// SPDX-License-Identifier: Apache-2.0
// The plan of a graph whose inputs are batches: it runs the batch as a whole, or, where operators
// do not mix samples (parallel/plan/batch_slices.h), one sample after the other, whichever takes
// less time on this machine. A whole batch reads weights once; sample after sample, values stay in
// caches, parts of a concatenation are computed where they belong, and activations take a fraction
// of the memory.
#pragma once

#include <memory>

#include "backends/backend.h"
#include "base/status.h"
#include "ir/graph/graph.h"

namespace egret::driver {

// As Backend::compile_consuming(). Slices are tried where CompileOptions::slice is set, the backend
// runs them, and weights take no more memory than activations: it takes the time and the memory of
// a second plan, and a second of runs of both, or two runs of each. Under
// CompileOptions::limit_arena a plan that keeps to it is better than one that does not.
base::Result<std::unique_ptr<backends::ExecutablePlan>> compile_batch(
    const backends::Backend& backend, ir::Graph graph, const backends::CompileOptions& options);

}  // namespace egret::driver
