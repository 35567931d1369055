// SPDX-License-Identifier: Apache-2.0
// Statistics tables: one row per counter makes its JSON field and its line for people, which is
// value, ratio and meaning:
//
//   const base::StatisticsTable<SearchCounters>& SearchCounters::table() {
//     using C = SearchCounters;
//     static const base::StatisticsTable<C> rows{
//         "search",
//         {{"searches", &C::searches, "rules matched against the whole e-graph"},
//          {"matches", &C::matches, "left sides found", &C::searches, "per search"},
//          {"seconds", &C::seconds, "time in search"}}};
//     return rows;
//   }
//
//   matches   12,345   3.10 per search   left sides found
//
// Counting is an increment of a plain field; the table costs nothing until it is printed.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace egret::base {

// A pointer to a counter of C: a count, a real number, or none.
template <typename C>
class CounterField {
 public:
  CounterField() = default;
  CounterField(std::uint64_t C::*count) : count_(count) {}  // NOLINT: implicit on purpose
  CounterField(double C::*real) : real_(real) {}            // NOLINT: implicit on purpose

  bool whole() const { return count_ != nullptr; }
  // 0 without a counter.
  double read(const C& counters) const {
    if (count_ != nullptr) return static_cast<double>(counters.*count_);
    return real_ != nullptr ? counters.*real_ : 0;
  }

 private:
  std::uint64_t C::*count_ = nullptr;
  double C::*real_ = nullptr;
};

template <typename C>
struct CounterRow {
  CounterRow(std::string name_of, CounterField<C> field_of, std::string meaning_of,
             CounterField<C> per = CounterField<C>(), std::string ratio_text = "")
      : name(std::move(name_of)),
        field(field_of),
        meaning(std::move(meaning_of)),
        base(per),
        ratio_name(std::move(ratio_text)) {}

  std::string name;  // also the JSON field; names that end in "seconds" or "bytes" print so
  CounterField<C> field;
  std::string meaning;
  CounterField<C> base;    // the ratio's denominator, if any
  std::string ratio_name;  // "per search"; "%" prints the ratio as a percentage
};

template <typename C>
struct StatisticsTable {
  std::string section;
  std::vector<CounterRow<C>> rows;
};

// One counter with its value read, whatever struct it came from.
struct CounterReading {
  std::string name;
  double value = 0;
  bool whole = true;  // value is a count
  std::string meaning;
  bool has_ratio = false;
  double ratio = 0;
  std::string ratio_name;
};

std::string render_statistics(const std::string& section,
                              const std::vector<CounterReading>& readings);
Json statistics_json(const std::vector<CounterReading>& readings);

template <typename C>
std::vector<CounterReading> read_counters(const C& counters) {
  std::vector<CounterReading> readings;
  for (const CounterRow<C>& row : C::table().rows) {
    CounterReading reading;
    reading.name = row.name;
    reading.value = row.field.read(counters);
    reading.whole = row.field.whole();
    reading.meaning = row.meaning;
    const double base = row.base.read(counters);
    reading.has_ratio = base != 0;
    reading.ratio = reading.has_ratio ? reading.value / base : 0;
    reading.ratio_name = row.ratio_name;
    readings.push_back(std::move(reading));
  }
  return readings;
}

// "--- search ---" and one aligned line per counter.
template <typename C>
std::string render_statistics(const C& counters) {
  return render_statistics(C::table().section, read_counters(counters));
}

// {"searches": 12, "matches": 345, "seconds": 0.5}
template <typename C>
Json statistics_json(const C& counters) {
  return statistics_json(read_counters(counters));
}

}  // namespace egret::base
