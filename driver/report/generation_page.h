// SPDX-License-Identifier: Apache-2.0
// Generated rules as a page: terms and candidates by size, the rules with their proofs, and
// candidates that no rule came of.
#pragma once

#include <string>
#include <vector>

#include "base/formats/json.h"
#include "base/formats/text_table.h"
#include "driver/report/page.h"
#include "rules/generator/generation.h"

namespace egret::driver {

struct GeneratedSpace {
  std::string name;
  std::string help{};  // may be empty
  const rules::generator::Generation* generation = nullptr;
};

// Counts by number of operators, for the console and for pages.
base::TextTable generation_table(const rules::generator::Generation& generation);

// `document`: the verb's JSON.
ReportPage generation_page(const std::vector<GeneratedSpace>& spaces, base::Json document,
                           const std::string& version);

}  // namespace egret::driver
