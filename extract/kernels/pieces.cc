// SPDX-License-Identifier: Apache-2.0
#include "extract/kernels/pieces.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <utility>

#include "extract/core/cheapest_terms.h"

namespace egret::extract {
namespace {

// The share of its cheapest term's cost that one reader of a class pays, if all readers within
// cheapest terms pay the same ("area flow").
std::vector<double> flows(const Problem& problem) {
  constexpr double kLeast = 1e-12;  // so that a term costs more than its operands
  const EGraphView& graph = problem.graph;
  std::vector<double> costs(problem.costs.begin(), problem.costs.end());
  for (double& cost : costs) cost += kLeast;
  const TreeChoice terms = cheapest_terms({graph, costs});
  std::vector<double> readers(graph.class_count(), 0);
  std::vector<ClassIndex> order;
  for (ClassIndex c = 0; c < graph.class_count(); ++c) {
    if (terms.choice[c] == kNoNode) continue;
    order.push_back(c);
    for (const ClassIndex child : graph.children_of(terms.choice[c])) readers[child] += 1;
  }
  std::ranges::stable_sort(order, {}, [&](ClassIndex c) { return terms.cost[c]; });
  std::vector<double> flow(graph.class_count(), 0);
  for (const ClassIndex c : order) {
    double sum = costs[terms.choice[c]];
    for (const ClassIndex child : graph.children_of(terms.choice[c])) sum += flow[child];
    flow[c] = sum / std::max(1.0, readers[c]);
  }
  return flow;
}

// Puts the nodes of a piece into order, depth first from stored values and then from the root.
class Ordering {
 public:
  Ordering(const EGraphView& graph, const std::vector<bool>& leaves,
           std::span<const NodeIndex> nodes)
      : graph_(graph), leaves_(leaves) {
    for (const NodeIndex node : nodes) inside_[graph.node_class[node]] = node;
  }

  std::optional<Piece> from(ClassIndex root, std::vector<NodeIndex> stored = {}) {
    for (const NodeIndex node : stored) {
      if (!visit(graph_.node_class[node])) return std::nullopt;
    }
    // The root comes last, so that no stored value may need it.
    if (marks_.contains(root) || !visit(root)) return std::nullopt;
    std::ranges::sort(stored);
    piece_.stored = std::move(stored);
    std::ranges::sort(piece_.inputs);
    const auto repeated = std::ranges::unique(piece_.inputs);
    piece_.inputs.erase(repeated.begin(), repeated.end());
    return std::move(piece_);
  }

 private:
  enum class Mark : std::uint8_t { kOpen, kDone };

  // False for a cycle. As deep as a piece.
  bool visit(ClassIndex c) {
    const auto found = inside_.find(c);
    if (found == inside_.end()) {
      if (!leaves_[c]) piece_.inputs.push_back(c);
      return true;
    }
    const auto [mark, is_new] = marks_.emplace(c, Mark::kOpen);
    if (!is_new) return mark->second == Mark::kDone;
    for (const ClassIndex child : graph_.children_of(found->second)) {
      if (!visit(child)) return false;
    }
    marks_[c] = Mark::kDone;
    piece_.nodes.push_back(found->second);
    return true;
  }

  const EGraphView& graph_;
  const std::vector<bool>& leaves_;
  std::map<ClassIndex, NodeIndex> inside_;
  std::map<ClassIndex, Mark> marks_;
  Piece piece_;
};

class Finder {
 public:
  Finder(const Problem& problem, const std::vector<bool>& leaves, const PieceOptions& options)
      : problem_(problem),
        graph_(problem.graph),
        leaves_(leaves),
        options_(options),
        flow_(flows(problem)) {}

  Pieces run() {
    std::vector<std::vector<Piece>> by_class(graph_.class_count());
    std::vector<bool> seen(graph_.class_count(), false);
    std::vector<ClassIndex> pending;
    const auto need = [&](ClassIndex c) {
      if (leaves_[c] || seen[c]) return;
      seen[c] = true;
      pending.push_back(c);
    };
    for (const ClassIndex root : graph_.roots) need(root);
    while (!pending.empty()) {
      const ClassIndex c = pending.back();
      pending.pop_back();
      by_class[c] = pieces_of(c);
      for (const Piece& piece : by_class[c]) std::ranges::for_each(piece.inputs, need);
    }
    result_.of_class.resize(by_class.size());
    for (ClassIndex c = 0; c < by_class.size(); ++c) {
      for (Piece& piece : by_class[c]) result_.add(c, std::move(piece));
    }
    return std::move(result_);
  }

 private:
  struct Trial {
    double price;  // of the kernel and, by flow, of what it reads
    std::uint64_t number;
    Piece piece;
    bool operator<(const Trial& other) const {
      return price != other.price ? price > other.price : number > other.number;
    }
  };

  double price_of(const Piece& piece) const {
    double price = options_.price(piece);
    for (const ClassIndex input : piece.inputs) price += flow_[input];
    return price;
  }

  // Best first from the single nodes: the most promising piece grows by one node in each way.
  std::vector<Piece> pieces_of(ClassIndex c) {
    std::vector<Piece> singles, found;
    std::priority_queue<Trial> queue;
    std::set<std::vector<NodeIndex>> known;
    std::uint64_t number = 0;
    std::size_t asked = 0;
    const auto keep = [&](Piece piece, std::vector<Piece>& list) {
      queue.push({price_of(piece), number++, piece});
      list.push_back(std::move(piece));
    };
    for (NodeIndex node = graph_.class_begin[c]; node < graph_.class_begin[c + 1]; ++node) {
      if (!std::isfinite(problem_.costs[node])) continue;
      if (auto piece = Ordering(graph_, leaves_, std::span(&node, 1)).from(c))
        keep(*std::move(piece), singles);
    }
    while (!queue.empty()) {
      const Piece grown = queue.top().piece;
      queue.pop();
      for (const ClassIndex input : grown.inputs) {
        for (NodeIndex node = graph_.class_begin[input]; node < graph_.class_begin[input + 1];
             ++node) {
          if (!std::isfinite(problem_.costs[node])) continue;
          std::vector<NodeIndex> nodes = grown.nodes;
          nodes.push_back(node);
          std::vector<NodeIndex> sorted = nodes;
          std::ranges::sort(sorted);
          if (!known.insert(std::move(sorted)).second) continue;
          auto piece = Ordering(graph_, leaves_, nodes).from(c);
          if (!piece) continue;
          if (asked >= options_.tried || (options_.should_stop && options_.should_stop())) {
            ++result_.dropped;
            continue;
          }
          ++asked;
          if (options_.is_kernel(*piece)) {
            keep(*std::move(piece), found);
          } else {
            ++result_.refused;
          }
        }
      }
    }
    std::ranges::stable_sort(found, {}, [&](const Piece& piece) { return price_of(piece); });
    if (found.size() > options_.kept) {
      result_.dropped += found.size() - options_.kept;
      found.resize(options_.kept);
    }
    singles.insert(singles.end(), found.begin(), found.end());
    return singles;
  }

  const Problem& problem_;
  const EGraphView& graph_;
  const std::vector<bool>& leaves_;
  const PieceOptions& options_;
  const std::vector<double> flow_;
  Pieces result_;
};

}  // namespace

std::uint32_t Pieces::add(ClassIndex root, Piece piece) {
  all.push_back(std::move(piece));
  parts.emplace_back();
  of_class[root].push_back(static_cast<std::uint32_t>(all.size() - 1));
  return of_class[root].back();
}

std::uint32_t Pieces::add_joint(Piece piece, std::vector<std::uint32_t> made_of) {
  all.push_back(std::move(piece));
  parts.push_back(std::move(made_of));
  return static_cast<std::uint32_t>(all.size() - 1);
}

Piece piece_of(const EGraphView& graph, const std::vector<bool>& leaves,
               std::span<const NodeIndex> nodes, std::vector<NodeIndex> stored) {
  return Ordering(graph, leaves, nodes)
      .from(graph.node_class[nodes.front()], std::move(stored))
      .value_or(Piece());
}

Pieces find_pieces(const Problem& problem, const std::vector<bool>& leaves,
                   const PieceOptions& options) {
  return Finder(problem, leaves, options).run();
}

}  // namespace egret::extract
