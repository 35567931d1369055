// SPDX-License-Identifier: Apache-2.0
#include "egraph/core/egraph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/random.h"
#include "egraph/formats/dump.h"
#include "tests/egraph/naive_closure.h"
#include "tests/egraph/smallest_size.h"

namespace egret::egraph {
namespace {

class EGraphTest : public ::testing::Test {
 protected:
  ClassId leaf(std::string_view name) { return *egraph_.add(ops_.op(name, 0)); }
  ClassId f(ClassId a) { return *egraph_.add(ops_.op("f", 1), {a}); }
  ClassId g(ClassId a, ClassId b) { return *egraph_.add(ops_.op("g", 2), {a, b}); }
  std::size_t parent_count(ClassId id) const {
    std::size_t count = 0;
    for ([[maybe_unused]] const NodeId parent : egraph_.parents(id)) ++count;
    return count;
  }
  void rebuild() {
    ASSERT_TRUE(egraph_.rebuild().ok());
    const base::Status status = egraph_.check_invariants();
    EXPECT_TRUE(status.ok()) << status.message();
  }

  OpTable ops_;
  EGraph egraph_{ops_};
};

TEST_F(EGraphTest, EqualTermsAreOneClass) {
  EXPECT_EQ(g(leaf("a"), leaf("b")), g(leaf("a"), leaf("b")));
  EXPECT_NE(g(leaf("a"), leaf("b")), g(leaf("b"), leaf("a")));
  EXPECT_EQ(egraph_.node_count(), 4U);
}

TEST_F(EGraphTest, MergingIsCongruentAfterRebuild) {
  const ClassId ffa = f(f(leaf("a")));
  const ClassId ffb = f(f(leaf("b")));
  EXPECT_TRUE(*egraph_.merge(leaf("a"), leaf("b")));
  EXPECT_FALSE(egraph_.clean());
  EXPECT_FALSE(egraph_.same(ffa, ffb));
  rebuild();
  EXPECT_TRUE(egraph_.same(ffa, ffb));
  EXPECT_EQ(egraph_.node_count(), 4U);
  EXPECT_EQ(egraph_.class_count(), 3U);
  EXPECT_FALSE(*egraph_.merge(leaf("a"), leaf("b")));
}

// f(f(a)) = a and f(f(f(a))) = a make f(a) = a (Nelson and Oppen's example).
TEST_F(EGraphTest, CyclicClassesClose) {
  const ClassId a = leaf("a");
  const ClassId fa = f(a);
  const ClassId ffa = f(fa);
  const ClassId fffa = f(ffa);
  ASSERT_TRUE(egraph_.merge(ffa, a).ok());
  ASSERT_TRUE(egraph_.merge(fffa, a).ok());
  rebuild();
  EXPECT_TRUE(egraph_.same(a, fa));
  EXPECT_EQ(egraph_.class_count(), 1U);
  EXPECT_EQ(egraph_.node_count(), 2U);
}

TEST_F(EGraphTest, ANodeWithOneChildTwiceIsItsParentOnce) {
  const ClassId a = leaf("a"), b = leaf("b");
  g(a, a);
  g(a, b);
  rebuild();
  EXPECT_EQ(parent_count(a), 2U);
  ASSERT_TRUE(egraph_.merge(a, b).ok());
  rebuild();
  EXPECT_EQ(parent_count(egraph_.find(a)), 1U);
}

TEST_F(EGraphTest, NodesMayHaveManyChildren) {
  constexpr std::size_t kArity = 20'000;
  std::vector<ClassId> children;
  for (std::uint64_t i = 0; i < kArity; ++i) children.push_back(*egraph_.add(ops_.op("x", 0, i)));
  ASSERT_TRUE(egraph_.add(ops_.op("cat", kArity), children).ok());
  for (std::size_t i = 1; i < kArity; ++i) {
    ASSERT_TRUE(egraph_.merge(children[i - 1], children[i]).ok());
  }
  rebuild();
  EXPECT_EQ(egraph_.class_count(), 2U);
  EXPECT_EQ(parent_count(egraph_.find(children[0])), 1U);
}

TEST_F(EGraphTest, HiddenNodesStandForTheirClassUnseen) {
  const ClassId a = leaf("a"), fa = f(a);
  ASSERT_TRUE(egraph_.merge(fa, leaf("b")).ok());
  rebuild();
  egraph_.hide(egraph_.lookup_node(ops_.op("f", 1), {&a, 1}));
  rebuild();
  EXPECT_EQ(egraph_.node_count(), 2U);
  EXPECT_EQ(egraph_.nodes(egraph_.find(fa)).size(), 1U);
  EXPECT_TRUE(egraph_.nodes_with(ops_.op("f", 1)).empty());
  EXPECT_EQ(egraph_.find(f(a)), egraph_.find(fa));
  // A visible node that becomes equal to it is seen.
  const ClassId c = leaf("c"), fc = f(c);
  ASSERT_TRUE(egraph_.merge(a, c).ok());
  rebuild();
  EXPECT_TRUE(egraph_.same(fa, fc));
  EXPECT_EQ(egraph_.nodes_with(ops_.op("f", 1)).size(), 1U);
}

TEST_F(EGraphTest, RollbackLeavesNoTrace) {
  const ClassId a = leaf("a");
  g(a, f(a));
  rebuild();
  const std::string before = dump(egraph_);
  const auto mark = egraph_.savepoint();
  g(f(f(a)), g(a, a));
  EXPECT_TRUE(egraph_.rollback(mark));
  EXPECT_EQ(dump(egraph_), before);
  const base::Status status = egraph_.check_invariants();
  EXPECT_TRUE(status.ok()) << status.message();
  ASSERT_TRUE(egraph_.merge(a, leaf("b")).ok());
  EXPECT_FALSE(egraph_.rollback(mark));
}

TEST_F(EGraphTest, RefusedNodesAreNotAdded) {
  SmallestSize analysis;
  EGraph egraph(ops_, &analysis);
  const auto refused = egraph.add(ops_.op("bad", 0, SmallestSize::kForbidden));
  EXPECT_EQ(refused.status().message(), "forbidden operator");
  EXPECT_EQ(egraph.node_count(), 0U);
  EXPECT_TRUE(egraph.check_invariants().ok());
}

TEST_F(EGraphTest, AnalysisValuesRiseThroughParents) {
  SmallestSize analysis;
  EGraph egraph(ops_, &analysis);
  const ClassId a = *egraph.add(ops_.op("a", 0));
  const ClassId deep = *egraph.add(ops_.op("f", 1), {*egraph.add(ops_.op("f", 1), {a})});
  const ClassId top = *egraph.add(ops_.op("g", 2), {deep, deep});
  EXPECT_EQ(egraph.data(top), 7U);
  ASSERT_TRUE(egraph.merge(deep, a).ok());
  ASSERT_TRUE(egraph.rebuild().ok());
  EXPECT_EQ(egraph.data(top), 3U);
}

// What merges mean when the analysis contradicts them.
class Parity : public Analysis {
 public:
  base::Result<Data> make(const EGraph& egraph, OpId op, std::span<const ClassId> kids) override {
    return kids.empty() ? egraph.ops().payload(op) % 2 : 1 - egraph.data(kids[0]);
  }
  base::Result<Data> merge(Data a, Data b) override {
    if (a == b) return a;
    return base::bad_input("odd is not even");
  }
};

TEST_F(EGraphTest, AnalysisValuesRiseThroughParentsOfClassesMergedTwice) {
  SmallestSize analysis;
  EGraph egraph(ops_, &analysis);
  const auto leaf = [&](std::string_view name) { return *egraph.add(ops_.op(name, 0)); };
  const auto f = [&](ClassId x, std::uint64_t which = 0) {
    return *egraph.add(ops_.op("f", 1, which), {{x}});
  };
  const ClassId small = leaf("a");
  const ClassId middle = f(f(leaf("b"))), large = f(f(leaf("c")));
  const ClassId above = f(large, 7);
  for (std::uint64_t which = 0; which < 2; ++which) f(middle, which);
  for (std::uint64_t which = 0; which < 3; ++which) f(small, which);
  ASSERT_TRUE(egraph.rebuild().ok());
  ASSERT_EQ(egraph.data(above), 4U);
  // Each time the class with fewer parents is taken into the other.
  ASSERT_TRUE(*egraph.merge(large, middle));
  ASSERT_TRUE(*egraph.merge(middle, small));
  ASSERT_TRUE(egraph.rebuild().ok());
  EXPECT_EQ(egraph.data(above), 2U);
  EXPECT_TRUE(egraph.check_invariants().ok());
}

TEST_F(EGraphTest, CompactingKeepsAllButDeadNodes) {
  const ClassId a = leaf("a"), b = leaf("b");
  const ClassId fa = f(a), fb = f(b), gab = g(fa, b);
  rebuild();
  ASSERT_TRUE(egraph_.merge(a, b).ok());
  rebuild();
  const Epoch seen = egraph_.epoch();
  const ClassId late = f(gab);
  rebuild();
  const std::size_t nodes = egraph_.node_count(), end = egraph_.next_node().index();
  ASSERT_GT(egraph_.dead_share(), 0);
  egraph_.compact();
  const base::Status status = egraph_.check_invariants();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(egraph_.dead_share(), 0);
  EXPECT_LT(egraph_.next_node().index(), end);
  EXPECT_EQ(egraph_.node_count(), nodes);
  EXPECT_TRUE(egraph_.same(fa, fb));
  EXPECT_EQ(egraph_.lookup(ops_.op("f", 1), {b}), egraph_.find(fa));
  // What was new since is still known.
  const auto changes = egraph_.nodes_since(seen);
  ASSERT_TRUE(changes.has_value());
  EXPECT_EQ(changes->fresh, egraph_.nodes(egraph_.find(late)).front());
  ASSERT_TRUE(egraph_.merge(late, a).ok());
  rebuild();
  EXPECT_EQ(parent_count(egraph_.find(a)), 2U);
}

TEST_F(EGraphTest, MemoryOfMergedClassesIsUsedAgain) {
  constexpr std::uint64_t kRounds = 50;
  constexpr std::uint64_t kClasses = 2000;
  const ClassId one = leaf("one");
  std::size_t once = 0;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    for (std::uint64_t i = 0; i < kClasses; ++i) {
      const ClassId other = *egraph_.add(ops_.op("n", 0, round * kClasses + i));
      ASSERT_TRUE(egraph_.merge(one, other).ok());
    }
    rebuild();
    egraph_.shrink_to_fit();
    const auto tables = egraph_.bytes_by_table();
    const auto rows = std::find_if(tables.begin(), tables.end(),
                                   [](const auto& table) { return table.table == "class rows"; });
    ASSERT_NE(rows, tables.end());
    if (round == 0) once = rows->bytes;
    ASSERT_LE(rows->bytes, once);
  }
  EXPECT_LE(once, 1024U);
  EXPECT_EQ(egraph_.nodes(egraph_.find(one)).size(), kRounds * kClasses + 1);
  EXPECT_TRUE(egraph_.check_invariants().ok());
}

TEST_F(EGraphTest, ImpossibleMergesAreRefusedOrReported) {
  Parity parity;
  EGraph egraph(ops_, &parity);
  const ClassId zero = *egraph.add(ops_.op("n", 0, 0));
  const ClassId one = *egraph.add(ops_.op("n", 0, 1));
  ASSERT_TRUE(egraph.rebuild().ok());
  EXPECT_FALSE(egraph.merge(zero, one).ok());
  EXPECT_FALSE(egraph.same(zero, one));
  EXPECT_TRUE(egraph.clean());
  EXPECT_TRUE(egraph.rebuild().ok());
}

// What a class and a node were when an epoch began, to tell what changed since.
struct Remembered {
  using Content = std::vector<std::uint32_t>;  // class, operator, children

  explicit Remembered(const EGraph& egraph) : epoch(egraph.epoch()) {
    for (const ClassId id : egraph.classes()) {
      data[id] = egraph.data(id);
      for (const NodeId node : egraph.nodes(id)) {
        Content content{id.index(), egraph.op(node).index()};
        for (const ClassId child : egraph.children(node)) content.push_back(child.index());
        by_class[id].insert(content);
        nodes[node] = std::move(content);
      }
    }
  }

  Epoch epoch;
  std::map<ClassId, Analysis::Data> data;
  std::map<ClassId, std::set<Content>> by_class;
  std::map<NodeId, Content> nodes;
};

void expect_changes_are_known(const EGraph& egraph, const Remembered& then) {
  const Remembered now(egraph);
  std::set<ClassId> classes;
  for (const ClassId id : egraph.classes_since(then.epoch)) classes.insert(id);
  for (const auto& [id, content] : now.by_class) {
    const auto old = then.by_class.find(id);
    if (old != then.by_class.end() && old->second == content && then.data.at(id) == now.data.at(id))
      continue;
    EXPECT_TRUE(classes.contains(id)) << "class " << id.index();
    EXPECT_GE(egraph.epoch(id), then.epoch);
  }
  const auto changes = egraph.nodes_since(then.epoch);
  ASSERT_TRUE(changes.has_value());
  const std::set<NodeId> moved(changes->moved.begin(), changes->moved.end());
  for (const auto& [node, content] : now.nodes) {
    const auto old = then.nodes.find(node);
    if (old != then.nodes.end() && old->second == content) continue;
    EXPECT_TRUE(node >= changes->fresh || moved.contains(node)) << "node " << node.index();
  }
}

TEST_F(EGraphTest, EpochsTellWhatIsNew) {
  const ClassId a = leaf("a"), b = leaf("b"), c = leaf("c");
  const ClassId fa = f(a), fb = f(b), gc = g(c, c);
  rebuild();
  const Epoch start = egraph_.epoch();
  rebuild();
  EXPECT_EQ(egraph_.epoch(), start);  // nothing happened
  EXPECT_TRUE(egraph_.classes_since(start).empty());
  const NodeId next = egraph_.next_node();
  ASSERT_TRUE(egraph_.merge(a, b).ok());
  rebuild();
  EXPECT_GT(egraph_.epoch(), start);
  EXPECT_THAT(egraph_.classes_since(start),
              ::testing::ElementsAre(egraph_.find(a), egraph_.find(fa)));
  EXPECT_TRUE(egraph_.same(fa, fb));
  const Epoch merged = egraph_.epoch();
  const ClassId fgc = f(gc);
  rebuild();
  EXPECT_THAT(egraph_.classes_since(merged), ::testing::ElementsAre(fgc));
  EXPECT_EQ(egraph_.nodes_since(merged)->fresh, next);
  EXPECT_TRUE(egraph_.nodes_since(merged)->moved.empty());
  EXPECT_FALSE(egraph_.nodes_since(start)->moved.empty());
  EXPECT_EQ(egraph_.node_after(next), egraph_.next_node());
}

// Random calls against the definition. Every trace is named by its seed.
void compare_with_definition(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  base::Random random(seed);
  OpTable ops;
  const std::vector<OpId> language = {ops.op("a", 0),    ops.op("b", 0),    ops.op("c", 0),
                                      ops.op("f", 1),    ops.op("f", 1, 1), ops.op("g", 2),
                                      ops.op("g", 2, 1), ops.op("h", 3)};
  SmallestSize analysis;
  EGraph egraph(ops, random.chance(0.5) ? &analysis : nullptr);
  NaiveClosure naive;
  std::vector<ClassId> handles;
  const bool hides = random.chance(0.3);
  Remembered remembered(egraph);
  for (std::uint64_t step = 0, steps = 5 + random.below(40); step < steps; ++step) {
    if (handles.size() < 2 || random.chance(0.6)) {
      const OpId op = language[handles.empty() ? 0 : random.below(language.size())];
      std::vector<NaiveClosure::Handle> children;
      std::vector<ClassId> classes;
      for (std::size_t i = 0; i < ops.arity(op); ++i) {
        children.push_back(random.below(handles.size()));
        classes.push_back(handles[children.back()]);
      }
      const auto mark = egraph.savepoint();
      if (random.chance(0.2)) {  // build something on top and take it back
        ASSERT_TRUE(egraph.add(op, classes).ok());
        ASSERT_TRUE(egraph.rollback(mark));
      }
      if (!handles.empty() && random.chance(0.3)) {
        const std::size_t other = random.below(handles.size());
        ASSERT_TRUE(egraph.add_to(handles[other], op, classes).ok());
        handles.push_back(handles[other]);
        naive.merge(naive.add(op, children), other);
      } else {
        handles.push_back(*egraph.add(op, classes));
        naive.add(op, children);
      }
    } else if (random.chance(0.6)) {
      const std::size_t a = random.below(handles.size()), b = random.below(handles.size());
      ASSERT_TRUE(egraph.merge(handles[a], handles[b]).ok());
      naive.merge(a, b);
    } else if (hides && random.chance(0.5)) {
      const auto nodes = egraph.nodes(egraph.find(handles[random.below(handles.size())]));
      if (!nodes.empty()) egraph.hide(nodes[random.below(nodes.size())]);
    } else {
      ASSERT_TRUE(egraph.rebuild().ok());
      if (random.chance(0.2)) egraph.shrink_to_fit();
    }
    if (random.chance(0.3) || step + 1 == steps) {
      ASSERT_TRUE(egraph.rebuild().ok());
      const base::Status status = egraph.check_invariants();
      ASSERT_TRUE(status.ok()) << status.message();
      expect_changes_are_known(egraph, remembered);
      if (random.chance(0.5)) remembered = Remembered(egraph);
      for (std::size_t a = 0; a < handles.size(); ++a) {
        for (std::size_t b = 0; b < a; ++b) {
          ASSERT_EQ(egraph.same(handles[a], handles[b]), naive.same(a, b)) << a << " " << b;
        }
      }
      ASSERT_EQ(egraph.class_count(), naive.class_count());
      if (!hides) {
        ASSERT_EQ(egraph.node_count(), naive.node_count());
      }
    }
  }
}

TEST(EGraphTraces, AgreeWithTheDefinitionOfCongruence) {
  for (std::uint64_t seed = 0; seed < 3000 && !::testing::Test::HasFatalFailure(); ++seed) {
    compare_with_definition(seed);
  }
}

}  // namespace
}  // namespace egret::egraph
