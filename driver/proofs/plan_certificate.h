// SPDX-License-Identifier: Apache-2.0
// The certificate of a plan: a proof that the programs of all ranks compute the model
// (parallel/replay/plan_certificate.h), which egret-check-plan replays.
#pragma once

#include <string>

#include "base/formats/json.h"
#include "base/status.h"
#include "ir/graph/graph.h"
#include "parallel/plan/planner.h"

namespace egret::driver {

// The certificate as JSON. The program is read from the plan's document, as it is written to its
// file, and the certificate is replayed before it is returned. Where the plan's operators are not
// the model's, an e-graph of both is saturated with the rules of `options`. Errors: unsupported,
// naming the step or output, for a proof that is not found or cannot be replayed.
base::Result<std::string> plan_certificate(const ir::Graph& model, const base::Json& plan,
                                           const parallel::ParallelPlanOptions& options);

}  // namespace egret::driver
