// SPDX-License-Identifier: Apache-2.0
// Answers of a verb that runs a model at one or several sizes.
#pragma once

#include <span>
#include <string>

#include "base/formats/json.h"
#include "base/function_ref.h"
#include "base/status.h"
#include "driver/models/sized_runs.h"
#include "tools/console/console.h"

namespace egret::tools {

// Of one run.
struct Answer {
  base::Json json;
  std::string text;
  ExitCode code = ExitCode::kOk;
};

// Prints the answer of the only run, or those of all runs under "runs", each with its sizes;
// `complete` may then add members to the whole. Returns the first code that is not kOk.
base::Result<ExitCode> answer_runs(std::span<const driver::SizedRun> runs, Console& console,
                                   base::FunctionRef<base::Result<Answer>(std::size_t)> answer_of,
                                   base::FunctionRef<void(base::Json&, ExitCode)> complete);

}  // namespace egret::tools
