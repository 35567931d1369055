// SPDX-License-Identifier: Apache-2.0
// Sequential optimization: first the program that is cheapest on one device, then its distribution.
// Joint optimization distributes all programs that rules find equal, and may choose one that is
// dearer on one device and cheaper on many.
#pragma once

#include "base/status.h"
#include "cost/model.h"
#include "extract/core/extractor.h"
#include "ir/graph/graph.h"
#include "rules/tensors/tensor_egraph.h"

namespace egret::parallel {

// The cheapest program of a saturated e-graph on one device; operators' costs add up. Errors: what
// extraction reports.
base::Result<ir::Graph> cheapest_on_one_device(const rules::TensorEGraph& tensors,
                                               cost::Model& model,
                                               const extract::ExtractorRow& extractor,
                                               const extract::Options& options);

}  // namespace egret::parallel
