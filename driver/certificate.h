// SPDX-License-Identifier: Apache-2.0
// The certificate of an optimized model: a proof that the written file computes what the model does
// (verifier/replay/certificate.h), which egret-check replays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "driver/models/read_model.h"
#include "driver/optimize.h"
#include "frontends/onnx.h"
#include "ir/graph/graph.h"
#include "rules/tensors/admitted_rules.h"
#include "rules/tensors/saturated_graph.h"
#include "verifier/index/size_range.h"
#include "verifier/replay/replay.h"

namespace egret::driver {

struct Explained {
  ir::Graph program;
  rules::SaturatedGraph saturated;  // with proofs
  rules::AdmittedRules rules;
  std::shared_ptr<const ir::Graph> extracted{};  // null: the program itself is the result
};

// The model as it was read.
struct CertifiedModel {
  const ModelSource& source;
  const frontends::OnnxModelInfo& info;
  const std::vector<std::string>& bind;  // NAME=SIZE
  bool keeps_rounding = true;
};

// Whether a result of these options can be explained. Errors: usage_error for options whose graphs
// are not extracted from an e-graph.
base::Status check_explainable(const OptimizeOptions& options);

// The certificate as JSON. The written model is read again, and the certificate is replayed before
// it is returned; with open sizes both are read as egret-check reads them. `open`: as given to
// optimize(). Errors: those of rules::write_certificate(); unsupported for a proof with a step that
// a replay cannot check: a condition may hold for a value by what another, equal term of the
// e-graph shows, or for open sizes by what only a solver finds.
base::Result<std::string> certificate_of(const OptimizeResult& result, const CertifiedModel& model,
                                         const frontends::ExportedModel& written,
                                         const rules::OpenSizes* open = nullptr);

// What an accepted certificate is made of, and of which sizes it speaks.
struct CertificateCheck {
  verifier::ReplayReport report;
  std::size_t outputs = 0;
  std::size_t rules = 0;
  std::size_t obligations = 0;  // facts about open sizes
  bool reals = false;           // nodes that count on rounding were taken as real arithmetic
  std::map<std::string, std::int64_t> sizes{};
  verifier::SizeRanges open{};
  std::vector<std::string> assumptions{};  // of open sizes, beside their ranges
};

// What egret-check does, within this process. Rules count as proven if they come with Egret or are
// in one of the files, with FILE.status.json. Errors: mismatch that names the first wrong step;
// those of reading.
base::Result<CertificateCheck> check_certificate(const ModelSource& before,
                                                 const ModelSource& after,
                                                 const std::string& certificate_path,
                                                 const std::vector<std::string>& rule_files);

}  // namespace egret::driver
