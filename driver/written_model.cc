// SPDX-License-Identifier: Apache-2.0
#include "driver/written_model.h"

namespace egret::driver {

base::Result<frontends::ExportedModel> written_model(const OptimizeResult& result,
                                                     const frontends::OnnxModelInfo& info,
                                                     std::string_view egret_version,
                                                     const std::string& external_data_path) {
  frontends::ExportOptions exporting;
  exporting.manifest = result.report.manifest;
  exporting.manifest["egret.version"] = egret_version;
  exporting.external_data_path = external_data_path;
  exporting.opset_for_composites = frontends::kComposedOpset;
  return frontends::export_onnx(result.graph, info, exporting);
}

}  // namespace egret::driver
