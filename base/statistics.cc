// SPDX-License-Identifier: Apache-2.0
#include "base/statistics.h"

#include "base/text_table.h"
#include "base/units.h"

namespace egret::base {
namespace {

std::string printed_value(const CounterReading& reading) {
  if (reading.name.ends_with("seconds")) return format_seconds(reading.value);
  if (reading.name.ends_with("bytes")) return format_bytes(reading.value);
  if (reading.whole) return format_count(static_cast<std::int64_t>(reading.value));
  return format_short(reading.value);
}

std::string printed_ratio(const CounterReading& reading) {
  if (!reading.has_ratio) return "";
  if (reading.ratio_name == "%") return format_percent(reading.ratio);
  return format_short(reading.ratio) + " " + reading.ratio_name;
}

}  // namespace

std::string render_statistics(const std::string& section,
                              const std::vector<CounterReading>& readings) {
  TextTable table(
      {{"", Align::kLeft}, {"", Align::kRight}, {"", Align::kRight}, {"", Align::kLeft}});
  for (const CounterReading& reading : readings) {
    table.row({reading.name, printed_value(reading), printed_ratio(reading), reading.meaning});
  }
  return "--- " + section + " ---\n" + table.render();
}

Json statistics_json(const std::vector<CounterReading>& readings) {
  Json json = Json::object();
  for (const CounterReading& reading : readings) {
    json.set(reading.name,
             reading.whole ? Json(static_cast<std::uint64_t>(reading.value)) : Json(reading.value));
  }
  return json;
}

}  // namespace egret::base
