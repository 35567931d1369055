// SPDX-License-Identifier: Apache-2.0
#include "base/formats/text_table.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace egret::base {
namespace {

void append_cell(std::string& line, std::string_view cell, std::size_t width, Align align) {
  const std::size_t used = text_width(cell);
  const std::string padding(width > used ? width - used : 0, ' ');
  if (align == Align::kRight) line += padding;
  line += cell;
  if (align == Align::kLeft) line += padding;
}

void finish_line(std::string& text, std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  text += line;
  text += '\n';
}

}  // namespace

std::size_t text_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
  }));
}

TextTable::TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {
  EGRET_CHECK(!columns_.empty());
}

TextTable& TextTable::row(std::vector<std::string> cells) {
  EGRET_CHECK(cells.size() <= columns_.size(), "more cells than columns");
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
  return *this;
}

TextTable& TextTable::rule() {
  rows_.emplace_back();
  return *this;
}

std::vector<std::size_t> TextTable::widths() const {
  std::vector<std::size_t> result;
  for (const Column& column : columns_) result.push_back(text_width(column.title));
  for (const auto& cells : rows_) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      result[i] = std::max(result[i], text_width(cells[i]));
    }
  }
  return result;
}

std::string TextTable::render() const {
  const std::vector<std::size_t> width = widths();
  std::size_t total = 2 * (columns_.size() - 1);
  for (const std::size_t w : width) total += w;
  std::string text;
  const std::string line_across = std::string(total, '-') + "\n";
  auto add = [&](auto cell_of) {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) line += "  ";
      append_cell(line, cell_of(i), width[i], columns_[i].align);
    }
    finish_line(text, std::move(line));
  };
  const bool titled = std::any_of(columns_.begin(), columns_.end(),
                                  [](const Column& c) { return !c.title.empty(); });
  if (titled) {
    add([&](std::size_t i) -> std::string_view { return columns_[i].title; });
    text += line_across;
  }
  for (const auto& cells : rows_) {
    if (cells.empty()) {
      text += line_across;
    } else {
      add([&](std::size_t i) -> std::string_view { return cells[i]; });
    }
  }
  return text;
}

std::string TextTable::render_markdown() const {
  std::string text = "|";
  for (const Column& column : columns_) text += " " + column.title + " |";
  text += "\n|";
  for (const Column& column : columns_) text += column.align == Align::kRight ? "---:|" : "---|";
  text += "\n";
  for (const auto& cells : rows_) {
    if (cells.empty()) continue;
    text += "|";
    for (const std::string& cell : cells) {
      text += ' ';
      for (const char c : cell) {
        if (c == '|') text += '\\';
        text += c;
      }
      text += " |";
    }
    text += "\n";
  }
  return text;
}

std::string wrap_text(std::string_view text, std::size_t width, std::size_t indent) {
  std::string result;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::size_t start = text.find_first_not_of(' ');
    if (start == std::string_view::npos) break;
    text.remove_prefix(start);
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    const std::size_t needed = text_width(word);
    if (column == 0) {
      column = needed;
    } else if (column + 1 + needed > width) {
      result += "\n" + std::string(indent, ' ');
      column = indent + needed;
    } else {
      result += ' ';
      column += 1 + needed;
    }
    result += word;
  }
  return result;
}

}  // namespace egret::base
