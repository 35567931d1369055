// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/did_you_mean.h"
#include "base/formats/text_table.h"
#include "base/system/terminal.h"

namespace egret::base {
namespace {

TEST(DidYouMean, DistancesCountSwapsOnce) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("conv", "covn"), 1U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("ca", "abc"), 3U);
}

TEST(DidYouMean, OnlyNearNamesAreSuggested) {
  EXPECT_EQ(nearest("Relu6", {"Gelu", "Relu"}), "Relu");
  EXPECT_EQ(nearest("Softmax", {"Conv", "MatMul"}), "");
  EXPECT_EQ(nearest(std::string(100'000, 'a'), {std::string(100'000, 'a')}), "");
}

TEST(TextTable, ColumnsLineUpAndLinesEndWithoutBlanks) {
  TextTable table({{"operator"}, {"n", Align::kRight}, {"note"}});
  table.row({"Conv", "57"}).rule().row({"Zwölf", "1,000", "x"});
  EXPECT_EQ(table.render(),
            "operator      n  note\n"
            "---------------------\n"
            "Conv         57\n"
            "---------------------\n"
            "Zwölf     1,000  x\n");
}

TEST(TextTable, MarkdownEscapesBars) {
  TextTable table({{"a"}, {"b", Align::kRight}});
  table.row({"x|y", "1"});
  EXPECT_EQ(table.render_markdown(), "| a | b |\n|---|---:|\n| x\\|y | 1 |\n");
}

TEST(TextTable, WrappingKeepsWithinTheWidth) {
  EXPECT_EQ(wrap_text("one two  three four", 9, 2), "one two\n  three\n  four");
  EXPECT_EQ(wrap_text("   ", 9, 2), "");
}

TEST(Terminal, ForeignTextCannotDriveTheTerminal) {
  EXPECT_EQ(sanitized("a\x1b[2Jb\r\n"), "a\\x1b[2Jb\\x0d\n");
}

TEST(Terminal, ColorIsOnlyWhereWanted) {
  EXPECT_FALSE(use_color(ColorMode::kNever, 1));
  EXPECT_TRUE(use_color(ColorMode::kAlways, 1));
  EXPECT_EQ(painted("x", Paint::kRed, false), "x");
  EXPECT_EQ(painted("x", Paint::kRed, true), "\x1b[31mx\x1b[0m");
}

}  // namespace
}  // namespace egret::base
