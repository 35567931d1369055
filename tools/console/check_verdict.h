// SPDX-License-Identifier: Apache-2.0
// What verbs that check outputs say of them.
#pragma once

#include "base/formats/json.h"
#include "driver/measure/output_check.h"
#include "tools/console/exit_code.h"

namespace egret::tools {

// The members max_error, bound, passed, not_told_apart and vacuous_output.
void add_check(base::Json& json, const driver::CheckReport& report);

// kMismatch if an output is wrong, kLimit if the check cannot tell one apart from a wrong one.
ExitCode exit_code_of(const driver::CheckReport& report);

}  // namespace egret::tools
