// SPDX-License-Identifier: Apache-2.0
#include "driver/report/blocks.h"

#include <algorithm>
#include <vector>

#include "base/formats/units.h"

namespace egret::driver {
namespace {

using base::element;
using base::Markup;
using base::TextTable;

bool has_titles(const TextTable& table) {
  return std::ranges::any_of(table.columns(), [](const auto& c) { return !c.title.empty(); });
}

std::string class_of(const TextTable::Column& column) {
  return column.align == base::Align::kRight ? "number" : "";
}

Markup header_of(const TextTable& table) {
  Markup cells;
  for (const TextTable::Column& column : table.columns()) {
    std::vector<base::MarkupAttribute> attributes{{"scope", "col"}};
    if (column.align == base::Align::kRight) attributes.emplace_back("class", "number");
    cells.add(element("th", attributes, column.title));
  }
  return element("thead", {}, element("tr", {}, cells));
}

// Rows [begin, end).
Markup body_of(const TextTable& table, std::size_t begin, std::size_t end) {
  const bool facts = !has_titles(table);
  Markup rows;
  bool after_rule = false;
  for (std::size_t i = begin; i < std::min(end, table.rows().size()); ++i) {
    const std::vector<std::string>& row = table.rows()[i];
    if (row.empty()) {
      after_rule = true;
      continue;
    }
    Markup cells;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string type = class_of(table.columns()[c]);
      std::vector<base::MarkupAttribute> attributes;
      if (!type.empty()) attributes.emplace_back("class", type);
      if (facts && c == 0) attributes.emplace_back("scope", "row");
      cells.add(element(facts && c == 0 ? "th" : "td", attributes, row[c]));
    }
    rows.add(element("tr", {{"class", after_rule ? "total" : ""}}, cells));
    after_rule = false;
  }
  return element("tbody", {}, rows);
}

Markup table_of(const TextTable& table, std::size_t begin, std::size_t end) {
  Markup content;
  const bool titles = has_titles(table);
  if (titles) content.add(header_of(table));
  content.add(body_of(table, begin, end));
  return element("div", {{"class", "scroll"}},
                 element("table", {{"class", titles ? "sortable" : "facts"}}, content));
}

}  // namespace

Markup paragraph(const Markup& text) { return element("p", {}, text); }
Markup small_text(const Markup& text) { return element("p", {{"class", "small"}}, text); }
Markup heading(std::string_view text) { return element("h3", {}, text); }
Markup code_block(std::string_view text) { return element("pre", {}, element("code", {}, text)); }

Markup badge(std::string_view text, std::string_view tone) {
  return element("span", {{"class", "badge " + std::string(tone)}}, text);
}

Markup folded(std::string_view summary, const Markup& content) {
  Markup all = element("summary", {}, summary);
  all.add(content);
  return element("details", {}, all);
}

Markup table_block(const TextTable& table, std::size_t most_rows) {
  if (table.empty()) return {};
  Markup all = table_of(table, 0, most_rows);
  if (table.rows().size() > most_rows) {
    all.add(small_text(
        base::counted(static_cast<std::int64_t>(table.rows().size() - most_rows), "further row") +
        " not shown."));
  }
  return all;
}

Markup long_table_block(const TextTable& table, std::size_t shown) {
  const std::size_t count = table.rows().size();
  if (count <= shown + shown / 4) return table_block(table);
  Markup all = table_of(table, 0, shown);
  const std::size_t end = std::min(count, kMostRows);
  Markup rest = table_of(table, shown, end);
  if (count > end)
    rest.add(small_text(base::counted(static_cast<std::int64_t>(count - end), "further row") +
                        " not shown."));
  all.add(
      folded("The other " + base::counted(static_cast<std::int64_t>(count - shown), "row"), rest));
  return all;
}

}  // namespace egret::driver
