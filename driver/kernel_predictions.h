// SPDX-License-Identifier: Apache-2.0
// Predictions of whole graphs from the times of their kernels.
//
// Candidates are chosen by a sum over operators, which does not see what a backend makes of several
// of them. What is reported is better known: all graphs, as the backend compiles them, run in
// turns, and the database of costs keeps the times. A processor's speed drifts by tenths within
// seconds, where other threads use the same core: graphs that run one after the other are not
// comparable.
#pragma once

#include <vector>

#include "base/status.h"
#include "driver/measure/kept_times.h"
#include "driver/optimize.h"
#include "driver/select/candidate.h"
#include "driver/setup.h"
#include "ir/graph/graph.h"

namespace egret::driver {

// Where the times of a setup are kept. It outlives them.
KeptTimes kept_times(const Setup& setup);

// Sets Candidate::kernels, and returns the same of the original. Nothing is predicted where no
// times are measured: by --no-measure, --profile-time 0 or another cost model, in an engine, by
// backends without divisions, and for graphs that do not compile. With --alternatives they are
// predicted by signatures of kernels (driver/select/kernel_costs.h). Errors: none but the
// database's; limit_hit where a stop was requested.
base::Result<KernelPrediction> predict_by_kernels(const ir::Graph& original,
                                                  std::vector<Candidate>& candidates,
                                                  const Setup& setup,
                                                  const OptimizeOptions& options);

}  // namespace egret::driver
