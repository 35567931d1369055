// SPDX-License-Identifier: Apache-2.0
// The time of one operator, as the profiled cost model stores it.
//
// What is timed is the operator's kernel as a plan would run it in the middle of a graph: reorders
// at the borders are left out, because between two kernels that agree on a layout there are none.
// Inputs named constant are weights: folded and prepacked, they cost nothing at run time but what
// it takes to bring them from memory, where one run of a large graph leaves them for the next.
// Other inputs lie in the caches as far as they fit, where the kernel before leaves them.
#pragma once

#include <cstdint>
#include <span>

#include "backends/backend.h"
#include "backends/timing/measure.h"
#include "backends/timing/taken_along.h"
#include "base/status.h"

namespace egret::backends {

// How operators are timed. A change of method makes earlier times worthless beside new ones: it
// raises this number, which is part of the name that times are kept under.
inline constexpr int kTimingMethod = 3;  // weights from memory, inputs in the caches

struct TimerOptions {
  MeasureOptions measure{.min_runs = 5, .min_seconds = 0.02, .max_seconds = 1.0};
  int threads = 0;
  Precision precision = Precision::kF32;
  std::int64_t max_bytes = std::int64_t{1} << 32;  // of inputs and output together
};

struct OperatorTiming {
  Timing alone;           // its own kernel, inputs and output in the kernel's layouts
  double fused_s = 0;     // what it adds to a kernel that takes it as epilogue or into a region;
                          // alone.median_s for operators that are never taken
  bool view = false;      // strides express it: no kernel at all, both times are 0
  bool fallback = false;  // the interpreter computes it
};

// `constant_mask` is empty or has one entry an input. Errors: those of the operator's type
// inference; limit_hit beyond max_bytes or max_seconds; what the backend reports.
base::Result<OperatorTiming> time_operator(const Backend& backend, const ir::Operator& op,
                                           const ir::Attrs& attrs,
                                           std::span<const ir::TensorType> types,
                                           const std::vector<bool>& constant_mask,
                                           const TimerOptions& options = {});

// To whoever times these operators afterwards: what takes long to make for that is made by all
// processors (Backend::make_ready()).
void make_ready(const Backend& backend, std::span<const Application> applications,
                const TimerOptions& options = {});

}  // namespace egret::backends
