// SPDX-License-Identifier: Apache-2.0
#include "egraph/core/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "egraph/core/smallest_term.h"
#include "egraph/formats/dump.h"
#include "egraph/search/syntax.h"

namespace egret::egraph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

class ViewTest : public ::testing::Test {
 protected:
  // {(+ a b), (* a 2)}, a, b, 2
  void SetUp() override {
    root_ = *syntax_.add_term(egraph_, "(+ a b)");
    ASSERT_TRUE(egraph_.merge(root_, *syntax_.add_term(egraph_, "(* a 2)")).ok());
    ASSERT_TRUE(egraph_.rebuild().ok());
  }

  OpTable ops_;
  Syntax syntax_{ops_};
  EGraph egraph_{ops_};
  ClassId root_;
};

TEST_F(ViewTest, HasClassesNodesAndChildrenInOrder) {
  const EGraphView view = make_view(egraph_, {&root_, 1});
  EXPECT_THAT(view.class_begin, ElementsAre(0, 1, 2, 4, 5));
  EXPECT_THAT(view.node_class, ElementsAre(0, 1, 2, 2, 3));
  EXPECT_THAT(view.children, ElementsAre(0, 1, 0, 3));
  EXPECT_THAT(view.child_begin, ElementsAre(0, 0, 0, 2, 4, 4));
  EXPECT_THAT(view.roots, ElementsAre(2));
  EXPECT_EQ(ops_.text(view.node_op[3]), "*");
  EXPECT_EQ(view.class_id[2], egraph_.find(root_));
  EXPECT_THAT(view.children_of(3), ElementsAre(0, 3));
}

TEST_F(ViewTest, DumpsAsText) {
  EXPECT_EQ(dump(egraph_), "c0: a\nc1: b\nc2: + c0 c1 | * c0 c3\nc3: 2\n");
  EXPECT_EQ(dump(egraph_, 2), "c0: a\nc1: b\n... 2 classes with 3 nodes not shown\n");
}

TEST_F(ViewTest, DumpsAsDot) {
  const std::string dot = dump_dot(egraph_);
  EXPECT_THAT(dot, HasSubstr("subgraph cluster_c2"));
  EXPECT_THAT(dot, HasSubstr("[lhead=cluster_c3]"));
  EXPECT_THAT(dump_dot(egraph_, 3), HasSubstr("label=\"1 class with 1 node not shown\""));
}

TEST_F(ViewTest, DrawsAsSvgByItself) {
  const EGraphView view = make_view(egraph_, {&root_, 1});
  const Dump whole = dump_svg(view, ops_);
  EXPECT_EQ(whole.text.find("<svg "), 0U);
  EXPECT_EQ(whole.hidden_classes + whole.hidden_nodes, 0U);
  EXPECT_EQ(count(whole.text, "<rect class=\"class"), 4U + 2U) << "with those of the legend";
  EXPECT_EQ(count(whole.text, "<rect class=\"enode"), 5U + 1U);
  EXPECT_EQ(count(whole.text, "class=\"edge"), 4U);
  EXPECT_THAT(whole.text, HasSubstr("a root"));
  EXPECT_EQ(count(whole.text, "a chosen e-node"), 0U);
  const Dump part = dump_svg(view, ops_, {2}, 1);
  EXPECT_EQ(part.hidden_classes, 2U);
  EXPECT_EQ(part.hidden_nodes, 3U);
  EXPECT_THAT(part.text, HasSubstr("2 classes with 3 nodes not shown"));
  EXPECT_THAT(part.text, HasSubstr(">1 more<"));
}

// An edge leaves the box of its e-node: both of `+` at one place, both of `*` at another one.
TEST_F(ViewTest, EdgesBeginAtTheirNode) {
  const std::string text = dump_svg(make_view(egraph_, {&root_, 1}), ops_).text;
  std::map<std::string, int> begins;
  const std::string path = "class=\"edge\" d=\"M";
  for (std::size_t at = 0; (at = text.find(path, at)) != std::string::npos; ++at) {
    const std::size_t begin = at + path.size();
    ++begins[text.substr(begin, text.find_first_of("LC", begin) - begin)];
  }
  ASSERT_EQ(begins.size(), 2U);
  for (const auto& [place, edges] : begins) EXPECT_EQ(edges, 2) << place;
}

TEST_F(ViewTest, MarksChosenNodesAndNamesRules) {
  const EGraphView view = make_view(egraph_, {&root_, 1});
  constexpr EGraphView::Index kNone = 0xffffffff;
  const std::vector<EGraphView::Index> chosen = {0, kNone, 3, 4};  // a, *, 2
  const std::vector<std::string> made_by = {"", "", "", "<rule>", ""};
  const DumpOptions how{.chosen = chosen, .made_by = made_by};
  const std::string text = dump_svg(view, ops_, how).text;
  EXPECT_EQ(count(text, "enode chosen"), 3U + 1U);
  EXPECT_EQ(count(text, "class=\"edge taken\""), 2U);
  EXPECT_EQ(count(text, "by &lt;rule&gt;"), 1U);
  EXPECT_THAT(text, HasSubstr("a chosen e-node"));
  // The chosen node is shown even beyond the limit.
  EXPECT_THAT(dump_svg(view, ops_, how, 1).text, HasSubstr("by &lt;rule&gt;"));
  const std::string dot = dump_dot(view, ops_, how).text;
  EXPECT_EQ(count(dot, "fillcolor"), 3U);
  EXPECT_THAT(dot, HasSubstr("label=\"*\\nby <rule>\""));
}

// What is nearest to the roots is shown; names may hold any characters.
TEST_F(ViewTest, BoundedDumpsBeginAtTheRoots) {
  const ClassId two = egraph_.find(*syntax_.add_term(egraph_, "2"));
  const EGraphView view = make_view(egraph_, {&two, 1});
  EXPECT_EQ(dump_text(view, ops_, {1}).text, "c3: 2\n... 3 classes with 4 nodes not shown\n");
  const std::vector<std::string> names = {"<a>", "b\"", "&", "\\"};
  EXPECT_THAT(dump_svg(view, ops_, {4, names}).text, HasSubstr("&lt;a&gt;"));
  EXPECT_THAT(dump_dot(view, ops_, {4, names}).text, HasSubstr("label=\"b\\\"\""));
  EXPECT_EQ(dump_text(view, ops_, {0}).hidden_classes, 4U);
  EXPECT_EQ(dump_svg(view, ops_, {0}).hidden_nodes, 5U);
}

TEST_F(ViewTest, SmallestTermsAvoidCycles) {
  const ClassId a = *syntax_.add_term(egraph_, "a");
  ASSERT_TRUE(egraph_.merge(root_, a).ok());  // a = (+ a b)
  ASSERT_TRUE(egraph_.rebuild().ok());
  EXPECT_EQ(smallest_term(egraph_, root_).text, "a");
  egraph_.hide(egraph_.lookup_node(ops_.op("a", 0), {}));
  ASSERT_TRUE(egraph_.rebuild().ok());
  EXPECT_EQ(smallest_term(egraph_, root_).size, 0U);
}

}  // namespace
}  // namespace egret::egraph
