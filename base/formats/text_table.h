// SPDX-License-Identifier: Apache-2.0
// Tables of aligned columns for people. Widths count UTF-8 code points, so plain text lines up.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace egret::base {

enum class Align : unsigned char { kLeft, kRight };

//   TextTable table({{"operator", Align::kLeft}, {"before", Align::kRight}});
//   table.row({"Conv", "57"});
//   out(table.render());
class TextTable {
 public:
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };

  explicit TextTable(std::vector<Column> columns);

  // As many cells as columns, or fewer: the rest stays empty.
  TextTable& row(std::vector<std::string> cells);
  // A horizontal line between the rows before and after.
  TextTable& rule();
  bool empty() const { return rows_.empty(); }
  // For other forms of the same table.
  const std::vector<Column>& columns() const { return columns_; }
  // An empty row is a rule.
  const std::vector<std::vector<std::string>>& rows() const { return rows_; }

  // Two spaces between columns, no trailing blanks, each line ends with "\n". Titles and a line
  // below them come first unless all titles are empty.
  std::string render() const;
  // The same as a Markdown table; "|" in cells is escaped.
  std::string render_markdown() const;

 private:
  std::vector<std::size_t> widths() const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;  // an empty row stands for a rule
};

// Code points in UTF-8 text (continuation bytes do not count).
std::size_t text_width(std::string_view text);

// The text broken at blanks so that no line exceeds the width, each line but the first indented.
// A longer word keeps a line of its own.
std::string wrap_text(std::string_view text, std::size_t width, std::size_t indent);

}  // namespace egret::base
