// SPDX-License-Identifier: Apache-2.0
#include "extract/kernels/joint_pieces.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace egret::extract {
namespace {

class Joiner {
 public:
  Joiner(const EGraphView& graph, const std::vector<bool>& leaves, const PieceOptions& finding,
         const JointOptions& options, Pieces& pieces)
      : graph_(graph), leaves_(leaves), finding_(finding), options_(options), pieces_(pieces) {}

  void run() {
    const std::vector<bool> read = read_classes();
    for (ClassIndex c = 0; c < graph_.class_count(); ++c) add_with_values_inside(c, read);
    for (const auto& [value, readers] : readers_of_values()) {
      const std::size_t first = pieces_.all.size();
      add_siblings(readers);
      Limits limits;
      for (std::size_t number = first, end = pieces_.all.size(); number < end; ++number)
        store_values_inside(static_cast<std::uint32_t>(number), read, limits);
    }
  }

 private:
  // Of one class or one shared value.
  struct Limits {
    std::size_t asked = 0;
    std::size_t kept = 0;
  };

  bool is_full(const Limits& limits) const {
    return limits.asked >= options_.tried || limits.kept >= options_.kept ||
           (finding_.should_stop && finding_.should_stop());
  }

  // The classes that kernels or the roots read.
  std::vector<bool> read_classes() const {
    std::vector<bool> read(graph_.class_count(), false);
    for (const ClassIndex root : graph_.roots) read[root] = true;
    for (const Piece& piece : pieces_.all) {
      for (const ClassIndex input : piece.inputs) read[input] = true;
    }
    return read;
  }

  void add_with_values_inside(ClassIndex c, const std::vector<bool>& read) {
    Limits limits;
    const std::vector<std::uint32_t> numbers = pieces_.of_class[c];
    for (const std::uint32_t number : numbers) store_values_inside(number, read, limits);
  }

  // All of them, and each.
  void store_values_inside(std::uint32_t number, const std::vector<bool>& read, Limits& limits) {
    const Piece piece = pieces_.all[number];
    std::vector<NodeIndex> inside;
    for (const NodeIndex node : piece.nodes) {
      if (node != piece.root() && read[graph_.node_class[node]] &&
          !std::ranges::binary_search(piece.stored, node))
        inside.push_back(node);
    }
    const auto offer_with = [&](std::span<const NodeIndex> values) {
      std::vector<NodeIndex> stored = piece.stored;
      stored.insert(stored.end(), values.begin(), values.end());
      offer(piece.nodes, piece.root(), std::move(stored), {number}, limits);
    };
    if (inside.size() > 1) offer_with(inside);
    for (const NodeIndex& node : inside) offer_with({&node, 1});
  }

  // By value, the pieces that read it from memory, leaves included: the first few of each class.
  using Readers = std::vector<std::vector<std::uint32_t>>;
  std::map<ClassIndex, Readers> readers_of_values() const {
    std::map<ClassIndex, Readers> readers;
    for (ClassIndex c = 0; c < graph_.class_count(); ++c) {
      std::map<ClassIndex, std::vector<std::uint32_t>> of_class;
      const std::vector<std::uint32_t>& numbers = pieces_.of_class[c];
      for (std::size_t i = 0; i < std::min(numbers.size(), options_.partners); ++i) {
        for (const ClassIndex value : read_by(pieces_.all[numbers[i]])) {
          if (!options_.is_shared || options_.is_shared(value))
            of_class[value].push_back(numbers[i]);
        }
      }
      for (auto& [value, list] : of_class) readers[value].push_back(std::move(list));
    }
    return readers;
  }

  std::set<ClassIndex> read_by(const Piece& piece) const {
    std::set<ClassIndex> read;
    for (const NodeIndex node : piece.nodes) {
      for (const ClassIndex child : graph_.children_of(node)) read.insert(child);
    }
    for (const NodeIndex node : piece.nodes) read.erase(graph_.node_class[node]);
    return read;
  }

  // As many as one kernel takes, one of each class after the other; then each pair.
  void add_siblings(const Readers& classes) {
    Limits limits;
    std::vector<std::uint32_t> all;
    for (const auto& numbers : classes) all.insert(all.end(), numbers.begin(), numbers.end());
    for (std::size_t rank = 0; rank < options_.partners; ++rank) {
      std::optional<std::uint32_t> seed, grown;
      for (const auto& numbers : classes) {
        const std::uint32_t reader = numbers[std::min(rank, numbers.size() - 1)];
        if (grown) {
          grown = join(*grown, reader, limits).value_or(*grown);
          continue;
        }
        if (seed) grown = join(*seed, reader, limits);
        seed = reader;  // the one before may fit no other
      }
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k) {
        if (is_full(limits)) {
          ++pieces_.dropped;
          return;
        }
        join(all[k], all[i], limits);
      }
    }
  }

  // The values that a piece stores.
  std::vector<NodeIndex> stored_by(const Piece& piece) const {
    std::vector<NodeIndex> stored = piece.stored;
    stored.push_back(piece.root());
    return stored;
  }

  // A kernel that reads the other's value is a larger piece, with a value inside.
  bool needs_any(const Piece& piece, std::span<const NodeIndex> values) const {
    return std::ranges::any_of(
        values, [&](NodeIndex node) { return contains(piece, graph_.node_class[node]); });
  }

  // The number of the joint piece; nothing where there is none.
  std::optional<std::uint32_t> join(std::uint32_t first, std::uint32_t second, Limits& limits) {
    const Piece& a = pieces_.all[first];
    const Piece& b = pieces_.all[second];
    std::vector<NodeIndex> stored = stored_by(a);
    if (needs_any(b, stored) || needs_any(a, stored_by(b))) return std::nullopt;
    std::map<ClassIndex, NodeIndex> nodes;
    for (const Piece* piece : {&a, &b}) {
      for (const NodeIndex node : piece->nodes) {
        if (nodes.emplace(graph_.node_class[node], node).first->second != node) return std::nullopt;
      }
    }
    std::vector<NodeIndex> all;
    for (const auto& [c, node] : nodes) all.push_back(node);
    stored.insert(stored.end(), b.stored.begin(), b.stored.end());
    return offer(all, b.root(), std::move(stored), {first, second}, limits);
  }

  // Inside, or among what it reads.
  bool contains(const Piece& piece, ClassIndex c) const {
    return std::ranges::binary_search(piece.inputs, c) ||
           std::ranges::any_of(piece.nodes,
                               [&](NodeIndex node) { return graph_.node_class[node] == c; });
  }

  std::optional<std::uint32_t> offer(std::vector<NodeIndex> nodes, NodeIndex root,
                                     std::vector<NodeIndex> stored,
                                     std::vector<std::uint32_t> made_of, Limits& limits) {
    std::ranges::sort(stored);
    std::ranges::sort(nodes);
    // A piece with other roots of the same values is the same kernel.
    std::vector<NodeIndex> values = stored;
    values.push_back(root);
    std::ranges::sort(values);
    const auto [known, is_new] = known_.try_emplace({nodes, values});
    if (!is_new) return known->second;
    if (is_full(limits)) {
      ++pieces_.dropped;
      known_.erase(known);
      return std::nullopt;
    }
    // piece_of() takes the root's node first.
    std::ranges::iter_swap(nodes.begin(), std::ranges::find(nodes, root));
    Piece piece = piece_of(graph_, leaves_, nodes, std::move(stored));
    if (piece.nodes.empty()) return std::nullopt;
    ++limits.asked;
    if (!finding_.is_kernel(piece)) {
      ++pieces_.refused;
      return std::nullopt;
    }
    ++limits.kept;
    return known->second = pieces_.add_joint(std::move(piece), std::move(made_of));
  }

  const EGraphView& graph_;
  const std::vector<bool>& leaves_;
  const PieceOptions& finding_;
  const JointOptions& options_;
  Pieces& pieces_;
  // By nodes, and those whose values are stored: the number of the piece, if it is a kernel.
  std::map<std::pair<std::vector<NodeIndex>, std::vector<NodeIndex>>, std::optional<std::uint32_t>>
      known_;
};

}  // namespace

void add_joint_pieces(const EGraphView& graph, const std::vector<bool>& leaves,
                      const PieceOptions& finding, const JointOptions& options, Pieces& pieces) {
  Joiner(graph, leaves, finding, options, pieces).run();
}

}  // namespace egret::extract
