// SPDX-License-Identifier: Apache-2.0
// The example of docs/egraph.md on explanations: what stands between the marks there is this
// file's, and so is what it prints.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

// [example]
#include "egraph/explainer.h"
#include "egraph/runner.h"
#include "egraph/syntax.h"

std::string why_equal(std::string_view left, std::string_view right) {
  using namespace egret::egraph;
  OpTable ops;
  EGraph egraph(ops);
  egraph.enable_proofs();
  const Syntax syntax(ops);
  const auto rules = *syntax.rules(R"(
      assoc:  (/ (* ?a ?b) ?c) => (* ?a (/ ?b ?c))
      cancel: (/ ?a ?a) => 1
      one:    (* ?a 1) => ?a )");
  const ClassId a = *syntax.add_term(egraph, left);
  const ClassId b = *syntax.add_term(egraph, right);
  Runner(egraph, rules).run();
  const auto explanation = explain(egraph, a, b);
  return explanation.ok() ? explanation->flat_text() : explanation.status().message();
}
// [example]

namespace egret::egraph {
namespace {

std::string read(const std::string& path) {
  std::ifstream file(std::string(EGRET_SOURCE_DIR) + "/" + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(ExplanationExample, IsWhatTheManualShows) {
  const std::string source = read("tests/egraph/explanation_example_test.cc");
  const std::string mark = "// [example]\n";
  const std::size_t begin = source.find(mark) + mark.size();
  const std::string example = source.substr(begin, source.find(mark, begin) - begin);
  const std::string manual = read("docs/egraph.md");
  EXPECT_NE(manual.find(example), std::string::npos);
  EXPECT_NE(manual.find("```\n" + why_equal("(f (/ (* x 2) 2))", "(f x)") + "```"),
            std::string::npos)
      << why_equal("(f (/ (* x 2) 2))", "(f x)");
}

TEST(ExplanationExample, SaysWhenThereIsNothingToExplain) {
  EXPECT_EQ(why_equal("x", "y"), "the two terms are not known to be equal");
}

}  // namespace
}  // namespace egret::egraph
