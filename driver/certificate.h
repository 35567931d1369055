// SPDX-License-Identifier: Apache-2.0
// The certificate of an optimized model: a proof that the written file computes what the model does
// (verifier/replay/certificate.h), which egret-check replays.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "driver/optimize.h"
#include "frontends/onnx.h"
#include "ir/graph/graph.h"
#include "rules/tensors/admitted_rules.h"
#include "rules/tensors/saturated_graph.h"

namespace egret::driver {

struct Explained {
  ir::Graph program;
  rules::SaturatedGraph saturated;  // with proofs
  rules::AdmittedRules rules;
  std::shared_ptr<const ir::Graph> extracted{};  // null: the program itself is the result
};

// Whether a result of these options can be explained. Errors: usage_error for open sizes and for
// options whose graphs are not extracted from an e-graph; unsupported for a node without a
// definition that rewriting may see.
base::Status check_explainable(const ir::Graph& program, const OptimizeOptions& options,
                               const rules::OpenSizes* open);

// The certificate as JSON. The written model is read again, and the certificate is replayed before
// it is returned. `bind`: NAME=SIZE, as the model was read. Errors: those of
// rules::write_certificate(); unsupported for weights in a file of their own, and for a proof with
// a step that a replay cannot check: a condition may hold for a value by what another, equal term
// of the e-graph shows.
base::Result<std::string> certificate_of(const OptimizeResult& result,
                                         const frontends::ExportedModel& written,
                                         const std::vector<std::string>& bind);

}  // namespace egret::driver
