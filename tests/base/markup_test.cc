// SPDX-License-Identifier: Apache-2.0
#include "base/formats/markup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace egret::base {
namespace {

TEST(Markup, TextIsNeverReadAsATag) {
  const std::string name = "<script>alert(\"x\")</script>&'";
  EXPECT_EQ(Markup(name).str(), "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;&#39;");
  EXPECT_EQ(
      element("td", {{"title", name}}, "a<b").str(),
      "<td title=\"&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;&#39;\">a&lt;b</td>");
}

TEST(Markup, BytesThatAreNoTextBecomeReplacements) {
  const std::string replaced = "\xEF\xBF\xBD";
  EXPECT_EQ(Markup("a\x01z\n\t").str(), "a" + replaced + "z\n\t");
  EXPECT_EQ(Markup(std::string("a\0z", 3)).str(), "a" + replaced + "z");
  EXPECT_EQ(Markup("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80").str(),
            "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_EQ(Markup("\xC3").str(), replaced) << "cut short";
  EXPECT_EQ(Markup("\xC0\x80").str(), replaced + replaced) << "overlong";
  EXPECT_EQ(Markup("\xED\xA0\x80").str(), replaced + replaced + replaced) << "a surrogate";
  EXPECT_EQ(Markup("\xE2\x82<").str(), replaced + replaced + "&lt;")
      << "a sequence takes no byte of what comes after it";
}

TEST(Markup, NumbersAreShortAndFinite) {
  const auto text = [](double number) { return MarkupAttribute("x", number).value; };
  EXPECT_EQ(text(12), "12");
  EXPECT_EQ(text(0.5), "0.5");
  EXPECT_EQ(text(-0.001), "0");
  EXPECT_EQ(text(1.239), "1.24");
  EXPECT_EQ(text(100), "100");
  EXPECT_EQ(text(std::numeric_limits<double>::quiet_NaN()), "0");
}

TEST(Markup, DataEndsNoScriptElement) {
  const Json data = Json::object().set("</script><!--", "</SCRIPT>");
  const std::string text = script_data(data).str();
  EXPECT_EQ(text.find('<'), std::string::npos) << text;
  const auto read = Json::parse(text);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->find("</script><!--")->as_string().value(), "</SCRIPT>");
}

TEST(Markup, LongTextsAreCutBetweenLetters) {
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(shortened("abcd", 3), "ab\u2026");
  EXPECT_EQ(shortened("a\u20ac\u20acd", 3), "a\u20ac\u2026");
}

TEST(Markup, PartsOfATemplateAreNotSearchedAgain) {
  EXPECT_EQ(fill_template("{{a}}-{{b}}-{{c}}", {{"a", "{{b}}"}, {"b", "2"}}), "{{b}}-2-{{c}}");
  EXPECT_EQ(fill_template("x {{a", {{"a", "1"}}), "x {{a");
}

}  // namespace
}  // namespace egret::base
