// SPDX-License-Identifier: Apache-2.0
// The front-page example of docs/egraph.md: what stands between the marks there is this file's.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

// [example]
#include "egraph/runner.h"
#include "egraph/smallest_term.h"
#include "egraph/syntax.h"

std::string simplify(std::string_view term) {
  using namespace egret::egraph;
  OpTable ops;
  EGraph egraph(ops);
  const Syntax syntax(ops);
  const auto rules = *syntax.rules(R"(
      commute: (+ ?a ?b) => (+ ?b ?a)
      zero:    (+ ?a 0)  => ?a
      cancel:  (- ?a ?a) => 0
      halve:   (/ (* ?a ?b) ?b) => ?a )");
  const ClassId root = *syntax.add_term(egraph, term);
  Runner(egraph, rules).run();
  return smallest_term(egraph, root).text;
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

TEST(ArithmeticExample, SimplifiesTerms) {
  EXPECT_EQ(simplify("(+ 0 (/ (* x 2) 2))"), "x");
  EXPECT_EQ(simplify("(+ (- y y) (+ x (- x x)))"), "x");
  EXPECT_EQ(simplify("(* x y)"), "(* x y)");
}

TEST(ArithmeticExample, IsWhatTheManualShows) {
  const std::string source = read("tests/egraph/arithmetic_example_test.cc");
  const std::string mark = "// [example]\n";
  const std::size_t begin = source.find(mark) + mark.size();
  const std::string example = source.substr(begin, source.find(mark, begin) - begin);
  EXPECT_NE(read("docs/egraph.md").find(example), std::string::npos);
}

}  // namespace
}  // namespace egret::egraph
