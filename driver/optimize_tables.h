// SPDX-License-Identifier: Apache-2.0
// Tables of an optimize() report, for the console and for pages.
#pragma once

#include "base/formats/text_table.h"
#include "driver/optimize_report.h"

namespace egret::driver {

// Operators by kind, before and after, with their sum.
base::TextTable operators_table(const OptimizeReport& report);
// The rules that made nodes; empty without any.
base::TextTable rules_table(const OptimizeReport& report);
// The original and the candidates that ran against it.
base::TextTable race_table(const OptimizeReport& report);

}  // namespace egret::driver
