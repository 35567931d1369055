// SPDX-License-Identifier: Apache-2.0
// What a generation leaves in a folder: generated.rules, its statuses (status_file_of()), and
// report.json.
#pragma once

#include <string>

#include "base/formats/json.h"
#include "base/status.h"
#include "rules/generator/generation.h"

namespace egret::rules::generator {

// The rules as text, with what each is and how many families its proof has.
std::string rules_text(const std::string& space, const Generation& generation);
// Counts by number of operators, and sums.
base::Json report_json(const Space& space, const Generation& generation);
// Makes the folder if there is none. Each file is replaced as a whole.
base::Status write_rule_files(const std::string& folder, const Space& space,
                              const Generation& generation);

}  // namespace egret::rules::generator
