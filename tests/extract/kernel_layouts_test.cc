// SPDX-License-Identifier: Apache-2.0
// The e-graph of kernels with values in several forms, against a search through all divisions and
// all forms.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "base/random.h"
#include "extract/kernels/joint_pieces.h"
#include "extract/kernels/kernel_graph.h"
#include "tests/extract/kernel_stand_in.h"
#include "tests/extract/random_view.h"

namespace egret::extract {
namespace {

constexpr std::uint32_t kForms = 3;

double drawn(std::uint64_t seed, std::initializer_list<std::uint64_t> parts) {
  std::uint64_t hash = seed;
  for (const std::uint64_t part : parts) hash = base::hash_combine(hash, part);
  return base::Random(hash).uniform(0, 1);
}

// Prices of a kernel differ by its forms, those of copies by the value and both forms.
double price_in_forms(const StandIn& backend, const Piece& piece) {
  const auto root = static_cast<std::uint64_t>(piece.root());
  const double factor = 0.5 + drawn(backend.seed, {root, piece.nodes.size(), piece.reads,
                                                   piece.writes, piece.stored.size()});
  return std::floor(backend.price(piece) * factor * 8) / 8;
}
double price_of_copy(const StandIn& backend, ClassIndex value, std::uint32_t from,
                     std::uint32_t to) {
  return std::floor(drawn(backend.seed, {77, value, from, to}) * 16) / 8;
}

// Each piece in about half of all forms; it stays in form 0.
void add_forms(const StandIn& backend, const EGraphView& graph, Pieces& pieces) {
  const std::vector<Piece> plain = pieces.all;
  for (const Piece& piece : plain) {
    for (std::uint32_t form = 1; form < kForms * kForms; ++form) {
      if (drawn(backend.seed, {5, piece.root(), piece.nodes.size(), form}) < 0.5) continue;
      Piece formed = piece;
      formed.reads = form / kForms;
      formed.writes = form % kForms;
      if (piece.is_joint()) {
        pieces.add_joint(std::move(formed), {});
      } else {
        pieces.add(graph.node_class[piece.root()], std::move(formed));
      }
    }
  }
}

// The least sum of prices of kernels and copies such that each value that is needed is made, in the
// form in which it is needed, by one of them, in some order without cycles.
class FormedDivisions {
 public:
  FormedDivisions(const StandIn& backend, const std::vector<bool>& leaves,
                  const std::vector<bool>& formed, const std::vector<Piece>& kernels)
      : backend_(backend),
        graph_(backend.random.graph),
        leaves_(leaves),
        formed_(formed),
        kernels_(kernels) {
    for (const Piece& kernel : kernels) {
      for (const Key& key : stored_by(kernel)) forms_[key.first].insert(key.second);
      for (const Key& key : read_by(kernel)) forms_[key.first].insert(key.second);
    }
  }

  double least() {
    visit(0);
    return best_;
  }

 private:
  using Key = std::pair<ClassIndex, std::uint32_t>;  // a value and its form
  // A kernel, or the form that is copied.
  struct Maker {
    std::size_t kernel;
    std::uint32_t from;
    bool copies;
    auto operator<=>(const Maker&) const = default;
  };

  Key key(ClassIndex c, std::uint32_t form) const { return {c, formed_[c] ? form : 0}; }
  bool is_there(const Key& key) const { return leaves_[key.first] && key.second == 0; }

  std::set<Key> stored_by(const Piece& kernel) const {
    std::set<Key> stored{key(graph_.node_class[kernel.root()], kernel.writes)};
    for (const NodeIndex node : kernel.stored)
      stored.insert(key(graph_.node_class[node], kernel.writes));
    return stored;
  }
  // Leaves included.
  std::set<Key> read_by(const Piece& kernel) const {
    std::set<ClassIndex> read;
    for (const NodeIndex node : kernel.nodes) {
      for (const ClassIndex child : graph_.children_of(node)) read.insert(child);
    }
    for (const NodeIndex node : kernel.nodes) read.erase(graph_.node_class[node]);
    std::set<Key> keys;
    for (const ClassIndex c : read) keys.insert(key(c, kernel.reads));
    return keys;
  }
  std::set<Key> read_by(const Key& made, const Maker& maker) const {
    return maker.copies ? std::set<Key>{{made.first, maker.from}} : read_by(kernels_[maker.kernel]);
  }

  void visit(double paid) {
    if (paid >= best_) return;
    std::set<Key> needed;
    for (const ClassIndex root : graph_.roots) needed.insert({root, 0});
    for (const auto& [made, maker] : maker_) needed.merge(read_by(made, maker));
    const auto open = std::ranges::find_if(
        needed, [&](const Key& one) { return !is_there(one) && !maker_.contains(one); });
    if (open == needed.end()) {
      if (is_acyclic()) best_ = paid;
      return;
    }
    const Key made = *open;
    for (std::size_t kernel = 0; kernel < kernels_.size(); ++kernel) {
      if (!stored_by(kernels_[kernel]).contains(made)) continue;
      const Maker maker{kernel, 0, false};
      const bool is_paid =
          std::ranges::any_of(maker_, [&](const auto& other) { return other.second == maker; });
      maker_[made] = maker;
      visit(paid + (is_paid ? 0 : price_in_forms(backend_, kernels_[kernel])));
      maker_.erase(made);
    }
    std::set<std::uint32_t> forms = forms_[made.first];
    forms.insert(0);
    for (const std::uint32_t from : forms) {
      if (from == made.second) continue;
      maker_[made] = {0, from, true};
      visit(paid + price_of_copy(backend_, made.first, from, made.second));
      maker_.erase(made);
    }
  }

  bool is_acyclic() const {
    std::set<Key> done;
    for (bool more = true; more;) {
      more = false;
      for (const auto& [made, maker] : maker_) {
        const std::set<Key> read = read_by(made, maker);
        more = more || (std::ranges::all_of(
                            read, [&](const Key& k) { return is_there(k) || done.contains(k); }) &&
                        done.insert(made).second);
      }
    }
    return done.size() == maker_.size();
  }

  const StandIn& backend_;
  const EGraphView& graph_;
  const std::vector<bool>& leaves_;
  const std::vector<bool>& formed_;
  const std::vector<Piece>& kernels_;
  std::map<ClassIndex, std::set<std::uint32_t>> forms_;
  std::map<Key, Maker> maker_;
  double best_ = kInfinite;
};

TEST(KernelLayouts, ExtractionIsTheBestOfAllDivisionsAndForms) {
  const ExtractorRow* exact = find_extractor("auto");
  base::Random random(52);
  int answered = 0, with_copies = 0, with_slices = 0, in_forms = 0, of_leaves = 0;
  for (int i = 0; i < 900; ++i) {
    const RandomView view = random_view(random, static_cast<int>(random.between(3, 4)));
    const StandIn backend{view, static_cast<std::uint64_t>(i)};
    const std::vector<bool> leaves = leaves_of(view.graph);
    std::vector<bool> formed;
    for (ClassIndex c = 0; c < view.graph.class_count(); ++c)
      formed.push_back(random.uniform(0, 1) < 0.7);
    const PieceOptions finding = options_of(backend);
    Pieces pieces = find_pieces({view.graph, view.costs}, leaves, finding);
    if (i % 2 == 0) add_joint_pieces(view.graph, leaves, finding, {}, pieces);
    add_forms(backend, view.graph, pieces);
    const KernelGraph kernels = kernel_graph(view.graph, leaves, pieces, formed);
    std::vector<double> prices, copy_prices;
    for (const Piece& piece : pieces.all) prices.push_back(price_in_forms(backend, piece));
    for (const KernelGraph::Copy& copy : kernels.copies)
      copy_prices.push_back(price_of_copy(backend, copy.value, copy.from, copy.to));
    const std::vector<double> costs = kernels.costs(prices, copy_prices);

    const double least = FormedDivisions(backend, leaves, formed, pieces.all).least();
    const auto solution = exact->extract({kernels.graph, costs}, {});
    if (std::isinf(least)) {
      EXPECT_FALSE(solution.ok()) << i;
      continue;
    }
    ASSERT_TRUE(solution.ok()) << i << ": " << solution.status().message();
    ++answered;
    ASSERT_NEAR(solution->dag_cost, least, 1e-9) << i;
    bool copies = false, slices = false, has_form = false, copies_leaf = false;
    for (const NodeIndex node : solution->choice) {
      if (node == kNoNode) continue;
      const bool is_copy = kernels.piece[node] == KernelGraph::kCopied;
      copies = copies || is_copy;
      copies_leaf = copies_leaf || (is_copy && leaves[kernels.copies[kernels.copy[node]].value]);
      slices = slices || kernels.piece[node] == KernelGraph::kSlice;
      has_form = has_form || (kernels.is_piece(node) && pieces.all[kernels.piece[node]].writes > 0);
    }
    with_copies += copies ? 1 : 0;
    with_slices += slices ? 1 : 0;
    in_forms += has_form ? 1 : 0;
    of_leaves += copies_leaf ? 1 : 0;
  }
  EXPECT_GT(answered, 600);
  EXPECT_GT(with_copies, 150);
  EXPECT_GT(with_slices, 30);
  EXPECT_GT(in_forms, 200);
  EXPECT_GT(of_leaves, 30);
}

// Where no value has forms, it is the e-graph of kernels as it is without any.
TEST(KernelLayouts, WithoutFormsNothingIsAdded) {
  base::Random random(53);
  for (int i = 0; i < 100; ++i) {
    const RandomView view = random_view(random, 5);
    const StandIn backend{view, static_cast<std::uint64_t>(i)};
    const std::vector<bool> leaves = leaves_of(view.graph);
    const PieceOptions finding = options_of(backend);
    Pieces pieces = find_pieces({view.graph, view.costs}, leaves, finding);
    add_joint_pieces(view.graph, leaves, finding, {}, pieces);
    const KernelGraph plain = kernel_graph(view.graph, leaves, pieces);
    const KernelGraph formed =
        kernel_graph(view.graph, leaves, pieces, std::vector<bool>(leaves.size(), true));
    EXPECT_EQ(plain.graph.children, formed.graph.children);
    EXPECT_EQ(plain.graph.class_begin, formed.graph.class_begin);
    EXPECT_TRUE(formed.copies.empty());
  }
}

// x -> f -> g: the choice of a start has a copy where forms do not meet, and none where they do.
TEST(KernelLayouts, TheChoiceOfMakersCopiesWhatItMust) {
  EGraphView graph;
  const auto add = [&](std::vector<ClassIndex> children) {
    graph.node_class.push_back(static_cast<ClassIndex>(graph.class_count()));
    graph.node_op.emplace_back(0);
    graph.children.insert(graph.children.end(), children.begin(), children.end());
    graph.child_begin.push_back(static_cast<ClassIndex>(graph.children.size()));
    graph.class_begin.push_back(static_cast<ClassIndex>(graph.node_op.size()));
    graph.class_id.emplace_back(graph.class_id.size());
  };
  add({1});  // g
  add({2});  // f
  add({});   // x
  graph.roots = {0};
  const std::vector<bool> leaves{false, false, true};
  Pieces pieces;
  pieces.of_class.resize(3);
  const auto piece = [&](NodeIndex node, std::vector<ClassIndex> inputs, std::uint32_t reads,
                         std::uint32_t writes) {
    return pieces.add(
        node,
        Piece{.nodes = {node}, .inputs = std::move(inputs), .reads = reads, .writes = writes});
  };
  const std::uint32_t g = piece(0, {1}, 2, 0), f = piece(1, {}, 0, 2), other = piece(1, {}, 1, 1);
  const KernelGraph kernels = kernel_graph(graph, leaves, pieces, {true, true, true});
  const std::vector<double> costs =
      kernels.costs({1, 1, 1}, std::vector<double>(kernels.copies.size(), 10));
  const auto price = [&](std::vector<KernelGraph::Maker> makers) {
    return solution_of({kernels.graph, costs}, kernels.choice_of(pieces, makers)).dag_cost;
  };
  EXPECT_EQ(price({{0, g}, {1, f}}), 2);
  EXPECT_EQ(price({{0, g}, {1, other}}), 22);  // x to form 1, f from form 1 to form 2
}

}  // namespace
}  // namespace egret::extract
