// SPDX-License-Identifier: Apache-2.0
#include "driver/written_model.h"

#include <limits>

#include "base/system/file.h"

namespace egret::driver {
namespace {

bool is_the_given_file(const OptimizeResult& result, const frontends::ImportedModel& read,
                       const ModelSource* as_given) {
  const OptimizeReport::Race& race = result.report.race;
  return as_given != nullptr && race.measured && !race.engine.empty() &&
         race.chosen == "original" && read.data_files.empty();
}

}  // namespace

base::Result<frontends::ExportedModel> written_model(const OptimizeResult& result,
                                                     const frontends::ImportedModel& read,
                                                     const ModelSource* as_given,
                                                     std::string_view egret_version,
                                                     const std::string& external_data_path) {
  if (is_the_given_file(result, read, as_given)) {
    frontends::ExportedModel same;
    if (as_given->bytes) {
      same.bytes = *as_given->bytes;
    } else {
      EGRET_ASSIGN_OR_RETURN(
          same.bytes, base::read_file(as_given->path, std::numeric_limits<std::int64_t>::max()));
    }
    return same;
  }
  frontends::ExportOptions exporting;
  exporting.manifest = result.report.manifest;
  exporting.manifest["egret.version"] = egret_version;
  exporting.external_data_path = external_data_path;
  exporting.opset_for_composites = frontends::kComposedOpset;
  return frontends::export_onnx(result.graph, read.info, exporting);
}

}  // namespace egret::driver
