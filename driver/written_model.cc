// SPDX-License-Identifier: Apache-2.0
#include "driver/written_model.h"

#include <limits>

#include "base/system/file.h"
#include "base/timer.h"

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
  exporting.made_by = result.made_by;
  return frontends::export_onnx(result.graph, read.info, exporting);
}

base::Result<frontends::ExportedModel> checked_model(OptimizeResult& result,
                                                     const OracleQuestion& question,
                                                     std::string_view egret_version,
                                                     const std::string& external_data_path) {
  const base::Stopwatch watch;
  const ModelSource* as_given = question.options.model_file.get();
  OptimizeReport& report = result.report;
  std::unique_ptr<Oracle> oracle;
  if (report.precision.written) {
    if (question.options.oracle != "auto")
      report.oracle.note = "not compared in an engine: the result has less precision";
  } else if (!report.out_of_memory && !is_the_given_file(result, question.read, as_given)) {
    EGRET_ASSIGN_OR_RETURN(oracle, Oracle::ask(question, report.oracle));
  }
  if (oracle != nullptr) report.manifest["egret.oracle"] = report.oracle.engine;
  EGRET_ASSIGN_OR_RETURN(
      frontends::ExportedModel written,
      written_model(result, question.read, as_given, egret_version, external_data_path));
  if (oracle == nullptr) return written;
  const base::Status checked = oracle->check(written, report.oracle);
  if (checked.code() == base::StatusCode::kMismatch) return checked;
  if (!checked.ok()) {  // interrupted, or out of time
    report.oracle.note = report.oracle.engine + ": not compared: " + checked.message();
    report.manifest.erase("egret.oracle");
    EGRET_ASSIGN_OR_RETURN(
        written, written_model(result, question.read, as_given, egret_version, external_data_path));
  }
  report.seconds += watch.seconds();
  report.seconds_by_phase.emplace_back("oracle", watch.seconds());
  return written;
}

}  // namespace egret::driver
