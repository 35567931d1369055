// SPDX-License-Identifier: Apache-2.0
// Reading TOML (configuration, machine descriptions, experiments). toml++ stays inside toml.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/formats/json.h"
#include "base/status.h"

namespace egret::base {

// One key of the document with its tables joined by dots ("saturation.limit-nodes"). Arrays stay
// one value; a table inside an array becomes an object. Dates become strings.
struct TomlEntry {
  std::string key;
  Json value;
  int line = 0;  // of the value, from 1
};

// All keys in the order of the document's lines. ORIGIN (a file name) opens the error message,
// followed by line and column. Nesting beyond the parser's own limit (256) is an error.
Result<std::vector<TomlEntry>> parse_toml(std::string_view text, std::string_view origin);

}  // namespace egret::base
