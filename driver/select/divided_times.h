// SPDX-License-Identifier: Apache-2.0
// Times of divided programs by kernel, as predictions.
#pragma once

#include <span>
#include <vector>

#include "backends/backend.h"
#include "base/status.h"
#include "driver/measure/kept_times.h"
#include "driver/select/selection.h"
#include "ir/graph/graph.h"

namespace egret::driver {

// The predicted time of a program, by kernel.
struct KernelTimes {
  std::vector<KernelTime> kernels{};
  double seconds = 0;     // the sum over the kernels, and the copies of outputs
  double whole = 0;       // the median of runs of this program; not measured: the same sum
  bool measured = false;  // in a run of this program
};

// Of a divided graph, whose kernels and reorders take these seconds.
KernelTimes kernel_times(const ir::Graph& graph, const backends::Division& division,
                         std::span<const double> seconds,
                         const backends::DivisionLayouts& layouts = {});
// The same, measured.
KernelTimes kernel_times(const ir::Graph& graph, const backends::Division& division,
                         const PartTimes& times, const backends::DivisionLayouts& layouts = {});
// The same as a prediction.
Prediction prediction_of(KernelTimes times);
// Of a program as the backend divides it, measured now or before. Errors: unsupported where the
// backend takes no division; those of compiling, running and of the database.
base::Result<Prediction> predict_as_divided(const ir::Graph& graph,
                                            const backends::Backend& backend,
                                            const backends::CompileOptions& plan,
                                            const KeptTimes& kept);

}  // namespace egret::driver
