// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "frontends/onnx.h"

namespace egret::frontends {

// How the two models of a certificate are read: with these sizes, those of other names ignored, and
// with the nodes that Egret lacks as they are. Sizes are open if there is `example_of`.
inline ImportOptions certified_reading(
    const std::map<std::string, std::int64_t>& sizes, bool keeps_rounding,
    const std::function<std::int64_t(std::string_view name, int axis)>& example_of) {
  ImportOptions reading;
  reading.bind = sizes;
  reading.allow_unknown_bind = true;
  reading.opaque_nodes = true;
  reading.keeps_rounding = keeps_rounding;
  reading.example_of = example_of;
  return reading;
}

// Both models of a certificate, as far as they are compared. The first is read before the second,
// whose nodes that Egret lacks must be those of the first.
class CertifiedModels {
 public:
  using Read = std::function<base::Result<ImportedModel>(const ImportOptions& reading)>;
  CertifiedModels(Read first, Read second) : first_(std::move(first)), second_(std::move(second)) {}

  base::Result<ir::Graph> first(const ImportOptions& reading) {
    EGRET_ASSIGN_OR_RETURN(ImportedModel model, first_(reading));
    info_ = std::move(model.info);
    return std::move(model.graph);
  }
  base::Result<ir::Graph> second(const ImportOptions& reading) const {
    EGRET_ASSIGN_OR_RETURN(ImportedModel model, second_(reading));
    EGRET_RETURN_IF_ERROR(check_same_nodes(info_, model.info));
    return std::move(model.graph);
  }

 private:
  Read first_, second_;
  OnnxModelInfo info_;
};

}  // namespace egret::frontends
