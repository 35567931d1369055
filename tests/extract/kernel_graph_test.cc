// SPDX-License-Identifier: Apache-2.0
// The e-graph of kernels against a search through all divisions.
#include "extract/kernels/kernel_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/random.h"
#include "extract/kernels/joint_pieces.h"
#include "tests/extract/kernel_stand_in.h"
#include "tests/extract/random_view.h"

namespace egret::extract {
namespace {

// All kernels of a class, by growing each in each way. Written apart from find_pieces(): a kernel
// is found as long as it grows, node by node, through kernels.
std::set<std::vector<NodeIndex>> all_kernels(const RandomView& random, const StandIn& backend,
                                             const std::vector<bool>& leaves, ClassIndex c) {
  const EGraphView& graph = random.graph;
  std::set<std::vector<NodeIndex>> found;
  std::vector<std::vector<NodeIndex>> pending;
  for (NodeIndex node = graph.class_begin[c]; node < graph.class_begin[c + 1]; ++node)
    pending.push_back({node});
  while (!pending.empty()) {
    const std::vector<NodeIndex> nodes = pending.back();
    pending.pop_back();
    const Piece piece = piece_of(graph, leaves, nodes);
    if (piece.nodes.empty() || (nodes.size() > 1 && !backend.is_kernel(piece))) continue;
    std::vector<NodeIndex> sorted = nodes;
    std::ranges::sort(sorted);
    if (!found.insert(sorted).second) continue;
    for (const ClassIndex input : piece.inputs) {
      for (NodeIndex node = graph.class_begin[input]; node < graph.class_begin[input + 1]; ++node) {
        std::vector<NodeIndex> grown = nodes;
        grown.push_back(node);
        pending.push_back(grown);
      }
    }
  }
  return found;
}

// The least sum of prices of kernels that make all roots: each class that is needed is made by one
// of its kernels, in some order without cycles.
class Divisions {
 public:
  Divisions(const RandomView& random, const StandIn& backend, const std::vector<bool>& leaves)
      : random_(random), backend_(backend), leaves_(leaves) {
    for (ClassIndex c = 0; c < random.graph.class_count(); ++c) {
      if (leaves[c]) continue;
      for (const auto& nodes : all_kernels(random, backend, leaves, c)) {
        std::vector<NodeIndex> rooted = nodes;
        // piece_of() takes the root's node first.
        std::ranges::stable_partition(
            rooted, [&](NodeIndex node) { return random.graph.node_class[node] == c; });
        kernels_[c].push_back(piece_of(random.graph, leaves, rooted));
      }
    }
  }

  double least() {
    std::set<ClassIndex> needed;
    for (const ClassIndex root : random_.graph.roots) need(root, needed);
    visit(needed, 0);
    return best_;
  }

 private:
  void need(ClassIndex c, std::set<ClassIndex>& needed) const {
    if (!leaves_[c] && !chosen_.contains(c)) needed.insert(c);
  }

  void visit(const std::set<ClassIndex>& needed, double paid) {
    if (paid >= best_) return;
    if (needed.empty()) {
      if (is_acyclic()) best_ = paid;
      return;
    }
    const ClassIndex c = *needed.begin();
    for (const Piece& kernel : kernels_[c]) {
      chosen_[c] = &kernel;
      std::set<ClassIndex> left = needed;
      left.erase(c);
      for (const ClassIndex input : kernel.inputs) need(input, left);
      visit(left, paid + backend_.price(kernel));
      chosen_.erase(c);
    }
  }

  bool is_acyclic() const {
    return can_be_ordered(chosen_, [&](const Piece* kernel, const std::set<const Piece*>& done) {
      return std::ranges::all_of(kernel->inputs, [&](ClassIndex input) {
        return leaves_[input] || done.contains(chosen_.at(input));
      });
    });
  }

  const RandomView& random_;
  const StandIn& backend_;
  const std::vector<bool>& leaves_;
  std::map<ClassIndex, std::vector<Piece>> kernels_;
  std::map<ClassIndex, const Piece*> chosen_;
  double best_ = kInfinite;
};

TEST(KernelGraph, ExtractionIsTheBestOfAllDivisions) {
  const ExtractorRow* exact = find_extractor("auto");
  ASSERT_NE(exact, nullptr);
  base::Random random(49);
  int answered = 0, with_joint_kernels = 0;
  for (int i = 0; i < 2000; ++i) {
    const RandomView view = random_view(random, static_cast<int>(random.between(3, 6)));
    const StandIn backend{view, static_cast<std::uint64_t>(i)};
    const std::vector<bool> leaves = leaves_of(view.graph);
    PieceOptions options = options_of(backend);
    options.tried = options.kept = 100'000;
    const Pieces pieces = find_pieces({view.graph, view.costs}, leaves, options);
    EXPECT_EQ(pieces.dropped, 0u);
    const KernelGraph kernels = kernel_graph(view.graph, leaves, pieces);
    const std::vector<double> prices = prices_of(pieces, backend);
    const std::vector<double> costs = kernels.costs(prices);

    const double least = Divisions(view, backend, leaves).least();
    const auto solution = exact->extract({kernels.graph, costs}, {});
    if (std::isinf(least)) {
      EXPECT_FALSE(solution.ok()) << i;
      continue;
    }
    ASSERT_TRUE(solution.ok()) << i << ": " << solution.status().message();
    ++answered;
    ASSERT_NEAR(solution->dag_cost, least, 1e-9) << i;
    EXPECT_EQ(solution->quality, Quality::kOptimal);
    with_joint_kernels += std::ranges::any_of(solution->choice, [&](NodeIndex node) {
      return node != kNoNode && kernels.is_piece(node) &&
             pieces.all[kernels.piece[node]].nodes.size() > 1;
    });
  }
  // The test is about divisions: most answers have one that is not trivial.
  EXPECT_GT(answered, 1500);
  EXPECT_GT(with_joint_kernels, 500);
}

// The least sum of prices of kernels of a list, joint ones among them, such that one of them stores
// each value that is needed, in some order without cycles.
class JointDivisions {
 public:
  JointDivisions(const EGraphView& graph, const std::vector<bool>& leaves,
                 const std::vector<Piece>& kernels, const std::vector<double>& prices)
      : graph_(graph), leaves_(leaves), kernels_(kernels), prices_(prices) {}

  double least() {
    visit(0);
    return best_;
  }

 private:
  std::set<ClassIndex> stored_by(const Piece& kernel) const {
    std::set<ClassIndex> stored{graph_.node_class[kernel.root()]};
    for (const NodeIndex node : kernel.stored) stored.insert(graph_.node_class[node]);
    return stored;
  }

  // The values that the chosen kernels can make, one after the other, from the chosen makers.
  void visit(double paid) {
    if (paid >= best_) return;
    std::set<ClassIndex> needed(graph_.roots.begin(), graph_.roots.end());
    for (const auto& [c, kernel] : maker_) {
      const Piece& piece = kernels_[kernel];
      needed.insert(piece.inputs.begin(), piece.inputs.end());
    }
    const auto open = std::ranges::find_if(
        needed, [&](ClassIndex c) { return !leaves_[c] && !maker_.contains(c); });
    if (open == needed.end()) {
      if (is_acyclic()) best_ = paid;
      return;
    }
    const ClassIndex c = *open;
    for (std::size_t kernel = 0; kernel < kernels_.size(); ++kernel) {
      if (!stored_by(kernels_[kernel]).contains(c)) continue;
      const bool is_paid =
          std::ranges::any_of(maker_, [&](const auto& made) { return made.second == kernel; });
      maker_[c] = kernel;
      visit(paid + (is_paid ? 0 : prices_[kernel]));
      maker_.erase(c);
    }
  }

  bool is_acyclic() const {
    return can_be_ordered(maker_, [&](std::size_t kernel, const std::set<std::size_t>& done) {
      return std::ranges::all_of(kernels_[kernel].inputs, [&](ClassIndex input) {
        return leaves_[input] || done.contains(maker_.at(input));
      });
    });
  }

  const EGraphView& graph_;
  const std::vector<bool>& leaves_;
  const std::vector<Piece>& kernels_;
  const std::vector<double>& prices_;
  std::map<ClassIndex, std::size_t> maker_;
  double best_ = kInfinite;
};

TEST(KernelGraph, ExtractionIsTheBestOfAllDivisionsWithJointKernels) {
  const ExtractorRow* exact = find_extractor("auto");
  base::Random random(50);
  int answered = 0, with_slices = 0;
  for (int i = 0; i < 1000; ++i) {
    const RandomView view = random_view(random, static_cast<int>(random.between(3, 5)));
    const StandIn backend{view, static_cast<std::uint64_t>(i)};
    const std::vector<bool> leaves = leaves_of(view.graph);
    const PieceOptions finding = options_of(backend);
    Pieces pieces = find_pieces({view.graph, view.costs}, leaves, finding);
    add_joint_pieces(view.graph, leaves, finding, {}, pieces);
    const KernelGraph kernels = kernel_graph(view.graph, leaves, pieces);
    const std::vector<double> prices = prices_of(pieces, backend);
    const double least = JointDivisions(view.graph, leaves, pieces.all, prices).least();
    const std::vector<double> costs = kernels.costs(prices);
    const auto solution = exact->extract({kernels.graph, costs}, {});
    if (std::isinf(least)) {
      EXPECT_FALSE(solution.ok()) << i;
      continue;
    }
    ASSERT_TRUE(solution.ok()) << i << ": " << solution.status().message();
    ++answered;
    ASSERT_NEAR(solution->dag_cost, least, 1e-9) << i;
    const auto makers = kernels.makers_in(solution->choice);
    const auto slices = std::ranges::count_if(solution->choice, [&](NodeIndex node) {
      return node != kNoNode && kernels.piece[node] == KernelGraph::kSlice;
    });
    with_slices += slices > 1 ? 1 : 0;
    const auto again = solution_of({kernels.graph, costs}, kernels.choice_of(pieces, makers));
    EXPECT_EQ(again.choice, solution->choice) << i;
  }
  EXPECT_GT(answered, 700);
  EXPECT_GT(with_slices, 100);
}

// Each joint piece is one that the backend has, stores values of its own nodes, and makes each of
// them from what it reads.
TEST(JointPieces, AreKernelsThatComputeWhatTheyStore) {
  base::Random random(51);
  int inside = 0, siblings = 0;
  for (int i = 0; i < 300; ++i) {
    const RandomView view = random_view(random, 6);
    const StandIn backend{view, static_cast<std::uint64_t>(i)};
    const std::vector<bool> leaves = leaves_of(view.graph);
    const PieceOptions finding = options_of(backend);
    Pieces pieces = find_pieces({view.graph, view.costs}, leaves, finding);
    const std::size_t single = pieces.all.size();
    add_joint_pieces(view.graph, leaves, finding, {}, pieces);
    for (std::size_t k = 0; k < pieces.all.size(); ++k) {
      const Piece& piece = pieces.all[k];
      ASSERT_EQ(piece.is_joint(), k >= single);
      if (!piece.is_joint()) continue;
      EXPECT_TRUE(backend.is_kernel(piece));
      std::set<ClassIndex> made;
      for (const NodeIndex node : piece.nodes) {
        for (const ClassIndex child : view.graph.children_of(node)) {
          EXPECT_TRUE(leaves[child] || made.contains(child) ||
                      std::ranges::binary_search(piece.inputs, child));
        }
        EXPECT_TRUE(made.insert(view.graph.node_class[node]).second);
      }
      for (const NodeIndex node : piece.stored) {
        EXPECT_NE(node, piece.root());
        EXPECT_EQ(std::ranges::count(piece.nodes, node), 1);
      }
      (pieces.parts[k].size() > 1 ? siblings : inside) += 1;
    }
  }
  EXPECT_GT(inside, 100);
  EXPECT_GT(siblings, 100);
}

TEST(JointPieces, KeepToTheirLimits) {
  // Eight functions of one value.
  EGraphView graph;
  for (ClassIndex c = 0; c < 9; ++c) {
    graph.node_class.push_back(c);
    graph.node_op.emplace_back(0);
    if (c < 8) graph.children.push_back(8);
    graph.child_begin.push_back(static_cast<ClassIndex>(graph.children.size()));
    graph.class_begin.push_back(c + 1);
    graph.class_id.emplace_back(c);
    if (c < 8) graph.roots.push_back(c);
  }
  std::vector<bool> leaves(9, false);
  leaves[8] = true;
  const std::vector<double> costs(9, 1);
  PieceOptions finding;
  finding.is_kernel = [](const Piece& piece) { return piece.nodes.size() == 2; };
  finding.price = [](const Piece&) { return 1.0; };
  const Pieces singles = find_pieces({graph, costs}, leaves, finding);
  const auto joint = [&](const JointOptions& options) {
    Pieces pieces = singles;
    add_joint_pieces(graph, leaves, finding, options, pieces);
    return pieces;
  };
  const Pieces all = joint({.tried = 100, .kept = 100});
  EXPECT_EQ(all.all.size(), singles.all.size() + 28);  // pairs
  EXPECT_EQ(all.refused, 6u);                          // the first pair with each of the others
  EXPECT_EQ(all.dropped, 0u);
  const Pieces hasty = joint({.tried = 6, .kept = 100});
  EXPECT_EQ(hasty.all.size(), singles.all.size() + 1);
  EXPECT_GT(hasty.dropped, 0u);
  const Pieces few = joint({.tried = 100, .kept = 2});
  EXPECT_EQ(few.all.size(), singles.all.size() + 2);
  EXPECT_GT(few.dropped, 0u);
  // What takes any number of values takes all at once.
  finding.is_kernel = [](const Piece&) { return true; };
  EXPECT_TRUE(std::ranges::any_of(joint({.tried = 100, .kept = 100}).all,
                                  [](const Piece& piece) { return piece.stored.size() == 7; }));
  // Also where the first one fits no other.
  finding.is_kernel = [](const Piece& piece) {
    return piece.nodes.size() == 1 || std::ranges::count(piece.nodes, NodeIndex{0}) == 0;
  };
  EXPECT_TRUE(std::ranges::any_of(joint({.tried = 100, .kept = 100}).all,
                                  [](const Piece& piece) { return piece.stored.size() == 6; }));
  const auto nothing = [](ClassIndex) { return false; };
  EXPECT_EQ(joint({.is_shared = nothing}).all.size(), singles.all.size());
}

// v = f(x) is read by two others, and a root: one kernel may store all three.
TEST(JointPieces, OfReadersStoreValuesInsideThem) {
  EGraphView graph;
  const auto add = [&](std::vector<ClassIndex> children) {
    graph.node_class.push_back(static_cast<ClassIndex>(graph.class_count()));
    graph.node_op.emplace_back(0);
    graph.children.insert(graph.children.end(), children.begin(), children.end());
    graph.child_begin.push_back(static_cast<ClassIndex>(graph.children.size()));
    graph.class_begin.push_back(static_cast<ClassIndex>(graph.node_op.size()));
    graph.class_id.emplace_back(graph.class_id.size());
  };
  add({2});  // g
  add({2});  // h
  add({3});  // f
  add({});   // x
  graph.roots = {0, 1, 2};
  const std::vector<bool> leaves{false, false, false, true};
  const std::vector<double> costs{5, 5, 5, 0};
  PieceOptions options;
  options.is_kernel = [](const Piece&) { return true; };
  options.price = [](const Piece&) { return 5.0; };
  Pieces pieces = find_pieces({graph, costs}, leaves, options);
  add_joint_pieces(graph, leaves, options, {}, pieces);
  EXPECT_TRUE(std::ranges::any_of(pieces.all, [](const Piece& piece) {
    return piece.nodes.size() == 3 && piece.stored.size() == 2;
  }));
  const KernelGraph kernels = kernel_graph(graph, leaves, pieces);
  const std::vector<double> prices(pieces.all.size(), 5);
  const std::vector<double> kernel_costs = kernels.costs(prices);
  EXPECT_EQ(find_extractor("auto")->extract({kernels.graph, kernel_costs}, {})->dag_cost, 5);
}

// x -> f -> g, f also to h: f is computed twice where that is cheaper than to store it.
TEST(KernelGraph, ComputesAValueTwiceWhereThatIsCheaper) {
  EGraphView graph;
  const auto add = [&](std::vector<ClassIndex> children) {
    graph.node_class.push_back(static_cast<ClassIndex>(graph.class_count()));
    graph.node_op.emplace_back(0);
    graph.children.insert(graph.children.end(), children.begin(), children.end());
    graph.child_begin.push_back(static_cast<ClassIndex>(graph.children.size()));
    graph.class_begin.push_back(static_cast<ClassIndex>(graph.node_op.size()));
    graph.class_id.emplace_back(graph.class_id.size());
  };
  add({2});  // g
  add({2});  // h
  add({3});  // f
  add({});   // x
  graph.roots = {0, 1};
  const std::vector<bool> leaves{false, false, false, true};
  const std::vector<double> costs{5, 5, 5, 0};
  PieceOptions options;
  options.is_kernel = [](const Piece&) { return true; };
  options.price = [](const Piece& piece) { return 5.0 + static_cast<double>(piece.nodes.size()); };
  const Pieces pieces = find_pieces({graph, costs}, leaves, options);
  ASSERT_EQ(pieces.all.size(), 5u);  // g, g(f), h, h(f), f
  const KernelGraph kernels = kernel_graph(graph, leaves, pieces);
  std::vector<double> prices;
  for (const Piece& piece : pieces.all) prices.push_back(options.price(piece));
  const std::vector<double> kernel_costs = kernels.costs(prices);
  const auto solution = find_extractor("auto")->extract({kernels.graph, kernel_costs}, {});
  ASSERT_TRUE(solution.ok());
  EXPECT_EQ(solution->dag_cost, 14);  // g(f) and h(f), not f, g and h for 18
  EXPECT_EQ(solution->choice[2], kNoNode);
}

TEST(KernelGraph, APieceHasNoCycle) {
  EGraphView graph;
  // Class 0 has f(1), class 1 has g(0) and x.
  graph.node_class = {0, 1, 1};
  graph.node_op.resize(3);
  graph.children = {1, 0};
  graph.child_begin = {0, 1, 2, 2};
  graph.class_begin = {0, 1, 3};
  graph.class_id = {egraph::ClassId(0), egraph::ClassId(1)};
  graph.roots = {0};
  const std::vector<bool> leaves(2, false);
  const NodeIndex cyclic[] = {0, 1};
  EXPECT_TRUE(piece_of(graph, leaves, cyclic).nodes.empty());
  const NodeIndex fine[] = {0, 2};
  EXPECT_EQ(piece_of(graph, leaves, fine).nodes, (std::vector<NodeIndex>{2, 0}));
}

}  // namespace
}  // namespace egret::extract
