// SPDX-License-Identifier: Apache-2.0
// Sequential optimization: find the cheapest program on one device, then distribute it. Joint
// optimization distributes all programs that rules find equal, and may choose one that is slower on
// one device and faster on many.
#pragma once

#include "base/status.h"
#include "cost/model.h"
#include "extract/core/extractor.h"
#include "ir/graph/graph.h"
#include "rules/tensors/tensor_egraph.h"

namespace egret::parallel {

// The cheapest program of a saturated e-graph on one device; operators' costs add up. Errors: those
// of extraction.
base::Result<ir::Graph> cheapest_on_one_device(const rules::TensorEGraph& tensors,
                                               cost::Model& model,
                                               const extract::ExtractorRow& extractor,
                                               const extract::Options& options);

}  // namespace egret::parallel
