// SPDX-License-Identifier: Apache-2.0
#include "tools/console/check_verdict.h"

namespace egret::tools {

void add_check(base::Json& json, const driver::CheckReport& report) {
  json.set("max_error", report.max_error)
      .set("bound", report.bound)
      .set("passed", report.passed)
      .set("not_told_apart", base::Json::array(report.not_told_apart))
      .set("vacuous_output", report.vacuous);
}

ExitCode exit_code_of(const driver::CheckReport& report) {
  if (!report.passed) return ExitCode::kMismatch;
  return report.not_told_apart.empty() ? ExitCode::kOk : ExitCode::kLimit;
}

}  // namespace egret::tools
