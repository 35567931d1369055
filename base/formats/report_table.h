// SPDX-License-Identifier: Apache-2.0
// Report tables: one row per reported value makes its member of the JSON object, its line for
// people and its line of the documentation. A folder keeps its results in a plain struct and
// describes it once:
//
//   const ReportTable<Growth>& Growth::table() {
//     static const ReportTable<Growth> rows{
//         {{"e_nodes", "e-nodes when saturation ended", &Growth::e_nodes},
//          {"stop_reason", "why saturation ended", &Growth::stop_reason, "stopped"}}};
//     return rows;
//   }
//
// A row with a label has a line for people; the others are for programs.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/formats/json.h"
#include "base/formats/text_table.h"

namespace egret::base {

template <typename Report>
class ReportTable {
 public:
  using ToJson = std::function<Json(const Report&)>;         // null leaves the member out
  using ToText = std::function<std::string(const Report&)>;  // "" leaves the line out

  struct Row {
    // From a data member, or from a function of the report.
    template <typename Member>
    requires std::is_member_object_pointer_v<Member> Row(std::string field, std::string meaning,
                                                         Member member, std::string line_label = "",
                                                         ToText line = {})
        : name(std::move(field)),
          help(std::move(meaning)),
          json([member](const Report& report) { return as_json(report.*member); }),
          label(std::move(line_label)),
          text(std::move(line)) {}
    Row(std::string field, std::string meaning, ToJson value, std::string line_label = "",
        ToText line = {})
        : name(std::move(field)),
          help(std::move(meaning)),
          json(std::move(value)),
          label(std::move(line_label)),
          text(std::move(line)) {}

    std::string name;  // of the JSON member; "" for a line without one
    std::string help;  // what the value is, with its unit; no full stop
    ToJson json;
    std::string label;
    ToText text;
  };

  explicit ReportTable(std::vector<Row> rows) : rows_(std::move(rows)) {}

  // Sets the members of the object.
  void add_to(Json& object, const Report& report) const {
    for (const Row& row : rows_) {
      if (row.name.empty()) continue;
      Json value = row.json(report);
      if (!value.is_null()) object.set(row.name, std::move(value));
    }
  }
  // Adds lines to a table of two columns.
  void add_to(TextTable& lines, const Report& report) const {
    for (const Row& row : rows_) {
      if (!row.text) continue;
      std::string line = row.text(report);
      if (!line.empty()) lines.row({row.label, std::move(line)});
    }
  }
  // A line of Markdown for each JSON member.
  std::string documentation() const {
    std::string text;
    for (const Row& row : rows_) {
      if (!row.name.empty()) text += "| `" + row.name + "` | " + row.help + " |\n";
    }
    return text;
  }

 private:
  template <typename Value>
  static Json as_json(const Value& value) {
    if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
      return Json::array(value);
    } else {
      return Json(value);
    }
  }

  std::vector<Row> rows_;
};

}  // namespace egret::base
