// SPDX-License-Identifier: Apache-2.0
// Parts of a page's sections: text, tables, code, folded parts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/formats/markup.h"
#include "base/formats/text_table.h"

namespace egret::driver {

base::Markup paragraph(const base::Markup& text);
base::Markup small_text(const base::Markup& text);
// A heading within a section.
base::Markup heading(std::string_view text);
// Preformatted, in a box that scrolls.
base::Markup code_block(std::string_view text);
base::Markup badge(std::string_view text, std::string_view tone = "");
// Folded until the reader opens it; open on paper.
base::Markup folded(std::string_view summary, const base::Markup& content);

// The table that the console prints, with as many rows as a page may have; the number of the others
// stands below it. A table without titles lists facts: its first column names them.
inline constexpr std::size_t kMostRows = 500;
base::Markup table_block(const base::TextTable& table, std::size_t most_rows = kMostRows);
// The first rows as they are, the others folded.
base::Markup long_table_block(const base::TextTable& table, std::size_t shown = 12);

}  // namespace egret::driver
