// SPDX-License-Identifier: Apache-2.0
#include "base/toml.h"

// Header-only and without exceptions: errors come back as values, and nothing needs linking.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <algorithm>
#include <sstream>

namespace egret::base {
namespace {

// Depth is bounded by the parser (TOML_MAX_NESTED_VALUES).
Json convert(const toml::node& node) {
  if (const auto* table = node.as_table()) {
    Json object = Json::object();
    for (const auto& [key, value] : *table) object.set(key.str(), convert(value));
    return object;
  }
  if (const auto* list = node.as_array()) {
    Json array = Json::array();
    for (const toml::node& item : *list) array.push(convert(item));
    return array;
  }
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* whole = node.as_integer()) return whole->get();
  if (const auto* real = node.as_floating_point()) return real->get();
  if (const auto* truth = node.as_boolean()) return truth->get();
  std::ostringstream date;
  if (const auto* day = node.as_date()) date << day->get();
  if (const auto* time = node.as_time()) date << time->get();
  if (const auto* both = node.as_date_time()) date << both->get();
  return date.str();
}

void flatten(const toml::table& table, const std::string& prefix, std::vector<TomlEntry>& out) {
  for (const auto& [key, value] : table) {
    const std::string path =
        prefix.empty() ? std::string(key.str()) : prefix + "." + std::string(key.str());
    if (const auto* inner = value.as_table()) {
      flatten(*inner, path, out);
    } else {
      out.push_back({path, convert(value), static_cast<int>(value.source().begin.line)});
    }
  }
}

}  // namespace

Result<std::vector<TomlEntry>> parse_toml(std::string_view text, std::string_view origin) {
  const toml::parse_result parsed = toml::parse(text, origin);
  if (!parsed) {
    const auto& error = parsed.error();
    return bad_input(std::string(origin) + ":" + std::to_string(error.source().begin.line) + ":" +
                     std::to_string(error.source().begin.column) + ": " +
                     std::string(error.description()));
  }
  std::vector<TomlEntry> entries;
  flatten(parsed.table(), "", entries);
  std::stable_sort(entries.begin(), entries.end(),
                   [](const TomlEntry& a, const TomlEntry& b) { return a.line < b.line; });
  return entries;
}

}  // namespace egret::base
