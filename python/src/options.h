// SPDX-License-Identifier: Apache-2.0
// Keyword arguments of Python as options: they have the names of the flags, with "_" for "-".
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/options/option_set.h"
#include "python/src/call.h"

namespace egret::python {

// Options as texts: a flag's name and its values, as python/egret/_options.py makes them.
using OptionTexts = std::vector<std::pair<std::string, std::vector<std::string>>>;

struct CommonOptions {
  std::int64_t threads = 0;

  static const base::OptionTable<CommonOptions>& table();
};

// Fills structs with option tables. Variables of the environment (EGRET_LIMIT_NODES) count where
// no argument is given, as on the command line. Raises egret.Usage.
template <typename... Structs>
void fill_options(const OptionTexts& texts, Structs&... structs) {
  base::OptionSet set;
  (set.add(structs), ...);
  for (const auto& [name, values] : texts) {
    const base::Status status = set.set(name, values, base::OptionOrigin::kFlag, name);
    if (!status.ok()) raise(status);
  }
  const base::Status status =
      set.apply_environment([](const std::string& name) { return std::getenv(name.c_str()); });
  if (!status.ok()) raise(status);
}

// The options of the structs, for people and type checkers: name, section, help, value ("N",
// "a|b|c", "" for a switch), default, and whether it is a list.
template <typename... Structs>
nb::list describe(Structs&... structs) {
  base::OptionSet set;
  (set.add(structs), ...);
  nb::list rows;
  for (const base::BoundOption& option : set.options()) {
    nb::dict row;
    row["name"] = option.name;
    row["section"] = option.section;
    row["help"] = option.help;
    row["value"] = option.value_name();
    row["default"] = option.default_text;
    row["is_list"] = option.is_list();
    row["is_switch"] = option.is_switch();
    rows.append(row);
  }
  return rows;
}

}  // namespace egret::python
