// SPDX-License-Identifier: Apache-2.0
#include "egraph/formats/serialized_egraph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "egraph/core/smallest_term.h"
#include "egraph/formats/dump.h"
#include "egraph/search/syntax.h"
#include "egraph/workloads/workload.h"

namespace egret::egraph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

base::Result<SerializedEGraph> read(std::string_view text, const SerializedOptions& options = {},
                                    std::size_t piece = 7) {
  SerializedReader reader(options);
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) {
    if (const base::Status status = reader.feed(text.substr(0, piece)); !status.ok()) return status;
  }
  return reader.finish();
}

template <typename... Arguments>
std::string written(const Arguments&... arguments) {
  std::string text;
  const base::Status status = write_serialized(arguments..., [&](std::string_view piece) {
    text += piece;
    return base::ok();
  });
  EXPECT_TRUE(status.ok()) << status.message();
  return text;
}

// Children are named before they are defined, a class is a cycle, members come in any order.
constexpr std::string_view kFile = R"({
  "root_eclasses": ["sum"],
  "nodes": {
    "+": {"children": ["two", "x*"], "op": "+", "eclass": "sum", "cost": 2.5, "note": {"a": [1]}},
    "x*": {"op": "*", "children": ["two", "x*"], "eclass": "x", "cost": -1},
    "x": {"op": "x", "eclass": "x", "subsumed": true},
    "two": {"op": "2", "children": [], "eclass": "2"}
  },
  "class_data": {"x": {"type": "Int", "note": "free", "more": null}},
  "other": [{"nodes": {}}]
})";

TEST(Serialized, FilesAreReadWhateverTheOrderOfTheirParts) {
  const auto file = read(kFile);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_THAT(file->class_names, ElementsAre("sum", "x", "2"));
  EXPECT_THAT(file->node_names, ElementsAre("+", "x*", "x", "two"));
  EXPECT_THAT(file->view.class_begin, ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(file->view.children, ElementsAre(2, 1, 2, 1));
  EXPECT_THAT(file->child_nodes, ElementsAre(3, 1, 3, 1));
  EXPECT_THAT(file->view.roots, ElementsAre(0));
  EXPECT_THAT(file->costs, ElementsAre(2.5, -1, 1, 1));
  EXPECT_THAT(file->subsumed, ElementsAre(false, false, true, false));
  ASSERT_EQ(file->class_data.size(), 1U);
  EXPECT_EQ(file->class_data[0].first, 1U);
  EXPECT_EQ(file->class_data[0].second,
            (SerializedEGraph::Texts{{"note", "free"}, {"type", "Int"}}));
  EXPECT_EQ(file->ops.text(file->view.node_op[0]), "+");
}

TEST(Serialized, WritingAndReadingBackGivesTheSameBytes) {
  const std::string once = written(*read(kFile));
  const auto again = read(once);
  ASSERT_TRUE(again.ok()) << again.status().message() << once;
  EXPECT_EQ(written(*again), once);
  EXPECT_THAT(once, HasSubstr("\"x*\": {\"op\": \"*\", \"children\": [\"two\", \"x*\"], "
                              "\"eclass\": \"x\", \"cost\": -1.0}"));
}

TEST(Serialized, ErrorsNameThePlaceOrTheNode) {
  const auto node = [](std::string_view members) {
    return "{\"nodes\": {\n \"n\": {" + std::string(members) + "}}}";
  };
  struct Case {
    std::string text;
    std::string_view message;
  };
  const Case cases[] = {
      {"", "incomplete JSON"},
      {"[]", "line 1, column 1 (byte 0): the document must be an object, found an array"},
      {"{}", "the document has no 'nodes'"},
      {"{\"nodes\": []}", "nodes must be an object, found an array"},
      {"{\"nodes\": {\"n\": 3}}", "a node must be an object, found a number"},
      {node("\"eclass\": \"c\""), "node 'n' has no op"},
      {node("\"op\": \"f\""), "node 'n' has no eclass"},
      {node("\"op\": \"f\", \"op\": \"g\", \"eclass\": \"c\""), "a second 'op'"},
      {node("\"op\": 1, \"eclass\": \"c\""), "line 2, column 15"},
      {node("\"op\": 1, \"eclass\": \"c\""), "op must be a string, found a number"},
      {node("\"op\": \"f\", \"eclass\": \"c\", \"cost\": \"1\""), "cost must be a number"},
      {node("\"op\": \"f\", \"eclass\": \"c\", \"children\": [1]"), "a child must be a string"},
      {node("\"op\": \"f\", \"eclass\": \"c\", \"children\": [\"m\"]"),
       "node 'n' has the child 'm', which is not a node"},
      {"{\"nodes\": {\"n\": {\"op\": \"f\", \"eclass\": \"c\"}, \"n\": {}}}",
       "node 'n' occurs twice"},
      {"{\"nodes\": {}, \"nodes\": {}}", "a second 'nodes'"},
      {"{\"nodes\": {}, \"root_eclasses\": [\"r\"]}", "root 'r' is a class without nodes"},
      {"{\"nodes\": {}, \"class_data\": {\"r\": {}}}", "'r' is a class without nodes"},
      {"{\"nodes\": {}} x", "something follows the value"},
  };
  for (const Case& c : cases) {
    const auto result = read(c.text);
    EXPECT_FALSE(result.ok()) << c.text;
    EXPECT_EQ(result.status().code(), base::StatusCode::kBadInput) << c.text;
    EXPECT_THAT(result.status().message(), HasSubstr(c.message)) << c.text;
  }
}

TEST(Serialized, MissingRootsMayBeLeftOut) {
  SerializedOptions options;
  options.ignore_missing_roots = true;
  const auto file = read(
      "{\"nodes\": {\"n\": {\"op\": \"f\", \"eclass\": \"c\"}}, \"root_eclasses\": [\"d\", \"c\"]}",
      options);
  ASSERT_TRUE(file.ok());
  EXPECT_THAT(file->view.roots, ElementsAre(0));
  EXPECT_THAT(file->missing_roots, ElementsAre("d"));
}

TEST(Serialized, NodesAreBounded) {
  SerializedOptions options;
  options.max_nodes = 3;
  EXPECT_EQ(read(kFile, options).status().code(), base::StatusCode::kLimit);
}

TEST(Serialized, AFailingSinkEndsWriting) {
  const auto file = *read(kFile);
  const base::Status status =
      write_serialized(file, [](std::string_view) { return base::unavailable("disk full"); });
  EXPECT_EQ(status.message(), "disk full");
}

// A saturated e-graph, written and added to a fresh one: same sizes, same terms.
TEST(Serialized, EGraphsSurviveTheTrip) {
  auto session = *workloads::Session::open(*workloads::find_workload("lambda_compose_many"));
  session->runner().run();
  const EGraph& before = session->egraph();
  const auto file = read(written(before, session->roots()));
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->view.node_count(), before.node_count());
  EXPECT_EQ(file->view.class_count(), before.class_count());

  OpTable ops;
  EGraph after(ops);
  const auto ids = add_serialized(*file, after);
  ASSERT_TRUE(ids.ok()) << ids.status().message();
  EXPECT_EQ(after.node_count(), before.node_count());
  EXPECT_EQ(after.class_count(), before.class_count());
  EXPECT_TRUE(after.check_invariants().ok());
  const ClassId root = (*ids)[file->view.roots[0]];
  EXPECT_EQ(smallest_term(after, root).size, smallest_term(before, session->roots()[0]).size);
  const ClassId roots[] = {root};
  EXPECT_EQ(read(written(after, std::span<const ClassId>(roots)))->view.node_count(),
            before.node_count());
}

// A class that is nothing but f of itself, and one that is empty apart from it.
TEST(Serialized, ClassesWithoutFiniteTermsCanBeAdded) {
  const auto file = *read(
      "{\"nodes\": {\"a\": {\"op\": \"f\", \"children\": [\"a\"], \"eclass\": \"1\"},"
      "\"b\": {\"op\": \"g\", \"children\": [\"a\"], \"eclass\": \"2\"}}}");
  OpTable ops;
  EGraph egraph(ops);
  const auto ids = *add_serialized(file, egraph);
  EXPECT_EQ(egraph.node_count(), 2U);
  EXPECT_EQ(egraph.class_count(), 2U);
  EXPECT_TRUE(egraph.same(*egraph.add(ops.op("f", 1), {ids[0]}), ids[0]));
  EXPECT_TRUE(egraph.same(*egraph.add(ops.op("g", 1), {ids[0]}), ids[1]));
}

// The same node in two classes: congruence makes them one.
TEST(Serialized, FilesThatAreNotClosedAreClosedWhenAdded) {
  const auto file = *read(
      "{\"nodes\": {\"a\": {\"op\": \"x\", \"eclass\": \"1\"}, \"b\": {\"op\": \"x\", \"eclass\": "
      "\"2\"}, \"c\": {\"op\": \"y\", \"eclass\": \"2\"}}}");
  OpTable ops;
  EGraph egraph(ops);
  const auto ids = *add_serialized(file, egraph);
  EXPECT_EQ(ids[0], ids[1]);
  EXPECT_EQ(egraph.node_count(), 2U);
}

}  // namespace
}  // namespace egret::egraph
