// SPDX-License-Identifier: Apache-2.0
// The cheapest graph whose activations fit into a limit of memory.
//
// What counts is the arena of the backend's plan: activations and scratch space as they lie in
// memory while the graph runs. It depends on fused kernels, layouts and order, so it is no sum over
// chosen nodes, and the limit is met by two searches that extract and plan again and again.
//   From the cheapest: where the plan takes too much, the nodes that are computed or wait to be
//   used when it takes the most get dearer; once it fits, these raises are given back one by one.
//   From the program as it came, all that rules made being too dear: what rules made is given back
//   in blocks of classes, halved where a block does not fit.
// What takes more than the limit by itself is left out from the start; where no graph is left, that
// is a proof (driver/select/memory_bound.h).
// Answers fit, which is read off the plan; that none is cheaper is proven by the bound of the
// extraction without the limit, as far as that goes.
#pragma once

#include <cstdint>
#include <optional>

#include "backends/backend.h"
#include "driver/select/selection.h"

namespace egret::driver {

struct MemoryFitOptions {
  std::int64_t limit_bytes = 0;
  double seconds = 20;
  SelectionOptions selection;
  const backends::Backend* backend = nullptr;
  backends::CompileOptions plan;
};

struct MemoryFit {
  SelectionResult selected;  // costs are those without raises
  std::int64_t bytes = 0;
};

struct MemoryFitResult {
  std::optional<MemoryFit> fit;  // nothing: none was found
  std::int64_t least_bytes = 0;  // of all that were planned
  std::int64_t bound_bytes = 0;  // no graph's plan takes less
  int planned = 0;
};

// Errors: what extraction and the backend report.
base::Result<MemoryFitResult> fit_memory(rules::TensorEGraph& tensors,
                                         const egraph::EGraphView& view, cost::Model& model,
                                         Profiler& profiler, const MemoryFitOptions& options,
                                         base::ProgressSink* sink);

// That no graph fits, as an error: unsupported.
base::Status nothing_fits(const MemoryFitResult& found, std::int64_t limit_bytes);

}  // namespace egret::driver
