// SPDX-License-Identifier: Apache-2.0
// The time of one operator, as the profiled cost model stores it.
//
// The timed kernel is the one that a plan would run in the middle of a graph. Reorders at its
// borders are left out, because kernels that agree on a layout have none between them. Constant
// inputs are weights: they are folded and prepacked, and cost at run time only the load from
// memory, where one run of a large graph leaves them for the next. Other inputs lie in the caches
// as far as they fit, where the kernel before leaves them.
#pragma once

#include <cstdint>
#include <span>

#include "backends/backend.h"
#include "backends/timing/fused_operators.h"
#include "backends/timing/measure.h"
#include "base/status.h"

namespace egret::backends {

// The version of the timing method, part of the key of stored times. Raise it when the method
// changes: earlier times are then not comparable.
inline constexpr int kTimingMethod = 4;  // weights from memory, inputs in the caches, threads awake

struct TimerOptions {
  MeasureOptions measure{.min_runs = 5, .min_seconds = 0.02, .max_seconds = 1.0};
  int threads = 0;
  Precision precision = Precision::kF32;
  std::int64_t max_bytes = std::int64_t{1} << 32;  // of inputs and output together
};

struct OperatorTiming {
  Timing alone;  // its own kernel, inputs and output in the kernel's layouts
  // what it adds to a kernel that fuses it (epilogue or region); alone.median_s for operators that
  // are never fused
  double fused_s = 0;
  bool view = false;      // strides express it: no kernel, both times are 0
  bool fallback = false;  // the interpreter computes it
};

// `constant_mask` is empty or has one entry an input. Errors: those of the operator's type
// inference; limit_hit beyond max_bytes or max_seconds; what the backend reports.
base::Result<OperatorTiming> time_operator(const Backend& backend, const ir::Operator& op,
                                           const ir::Attrs& attrs,
                                           std::span<const ir::TensorType> types,
                                           const std::vector<bool>& constant_mask,
                                           const TimerOptions& options = {});

// A hint before timing these operators: prepares the slow parts on all processors
// (Backend::make_ready()).
void make_ready(const Backend& backend, std::span<const Application> applications,
                const TimerOptions& options = {});

}  // namespace egret::backends
