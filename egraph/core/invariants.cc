// SPDX-License-Identifier: Apache-2.0
// Checks every numbered invariant of egraph/core/egraph.h. It recomputes all lists from the arena
// with ordered sets and compares.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "egraph/core/egraph.h"

namespace egret::egraph {

using base::Status;

class InvariantChecker {
 public:
  explicit InvariantChecker(const EGraph& egraph) : egraph_(egraph) {}

  Status run() {
    if (!egraph_.clean()) return base::internal_error("check_invariants() before rebuild()");
    if (egraph_.unlisted_ != egraph_.next_node()) return broken(4, "nodes that are not listed");
    EGRET_RETURN_IF_ERROR(read_arena());
    EGRET_RETURN_IF_ERROR(check_classes());
    EGRET_RETURN_IF_ERROR(check_ops());
    EGRET_RETURN_IF_ERROR(check_list_arena());
    EGRET_RETURN_IF_ERROR(check_rows());
    if (visible_ != egraph_.node_count()) return broken(2, "node_count()");
    if (live_ != egraph_.hash_cons_.size()) return broken(1, "size of the hash-cons");
    return egraph_.analysis_ == nullptr ? base::ok() : check_analysis();
  }

 private:
  static Status broken(int number, const std::string& what) {
    return base::internal_error("e-graph invariant " + std::to_string(number) +
                                " is broken: " + what);
  }

  // Collects the expected lists from the live nodes and checks that the hash-cons finds each of
  // them.
  Status read_arena() {
    const auto& words = egraph_.words_;
    for (std::size_t word = 0; word < words.size();) {
      const NodeId node(word);
      word = egraph_.node_after(node).index();
      if (egraph_.dead(node)) continue;
      ++live_;
      const std::string name = "node " + std::to_string(node.index());
      for (const ClassId child : egraph_.children(node)) {
        if (!egraph_.is_canonical(child)) return broken(1, "child of " + name);
        parents_[child].insert(node);
      }
      if (egraph_.lookup_node(egraph_.op(node), egraph_.children(node)) != node) {
        return broken(1, name + " is not found by its content");
      }
      if (!egraph_.visible(node)) continue;
      ++visible_;
      if (!egraph_.is_canonical(words[node.index() + 1])) return broken(5, name);
      nodes_[egraph_.class_of(node)].insert(node);
      by_op_[egraph_.op(node)].insert(node);
    }
    return base::ok();
  }

  // Whether the list holds exactly these items, each once.
  static bool holds(std::span<const NodeId> list, const std::set<NodeId>& items) {
    return list.size() == items.size() && std::set<NodeId>(list.begin(), list.end()) == items;
  }

  // Walks the parent chain of a class and compares links, dead links and live parents.
  bool holds_parents(ClassId id) const {
    std::size_t links = 0;
    std::size_t dead = 0;
    for (EGraph::Slot slot = egraph_.row(id).parents; slot != 0; ++links) {
      const NodeId node = egraph_.node_of(slot);
      dead += egraph_.dead(node) ? 1 : 0;
      if (!egraph_.dead(node) && egraph_.words_[slot] != id) return false;
      slot = egraph_.next_slot(slot, node);
      // More links than words: the chain is a cycle.
      if (links > egraph_.words_.size()) return false;
    }
    const EGraph::Row& row = egraph_.row(id);
    std::vector<NodeId> parents;
    for (const NodeId node : egraph_.parents(id)) parents.push_back(node);
    const auto expected = parents_.find(id);
    return links == row.links && dead == row.dead_links &&
           (expected == parents_.end() ? parents.empty() : holds(parents, expected->second));
  }

  // Compares the lists and masks of each class with what the node records say. The number names the
  // invariant.
  Status check_classes() {
    const std::vector<ClassId> classes = egraph_.classes();
    if (classes.size() != egraph_.class_count()) return broken(2, "class_count()");
    for (const ClassId id : classes) {
      const std::string name = "class " + std::to_string(id.index());
      const auto nodes = egraph_.nodes(id);
      if (!holds(nodes, nodes_[id])) return broken(2, "node list of " + name);
      const auto key = [this](NodeId n) { return std::pair(egraph_.op(n), n); };
      if (!std::is_sorted(nodes.begin(), nodes.end(),
                          [&](NodeId a, NodeId b) { return key(a) < key(b); })) {
        return broken(2, "order of the nodes of " + name);
      }
      for (const NodeId node : nodes) {
        const BaseId base = egraph_.ops_.base_of(egraph_.op(node));
        if ((egraph_.mask(id) & EGraph::mask_bit(base)) == 0) return broken(2, "mask of " + name);
      }
      if (!holds_parents(id)) return broken(3, "parents of " + name);
      if (egraph_.epoch(id) > egraph_.epoch()) return broken(7, "epoch of " + name);
    }
    return base::ok();
  }

  Status check_ops() {
    for (std::size_t i = 0; i < egraph_.by_op_.size(); ++i) {
      if (!holds(egraph_.nodes_with(OpId(i)), by_op_[OpId(i)])) {
        return broken(4, "list of operator " + egraph_.ops_.text(OpId(i)));
      }
      if (!std::is_sorted(egraph_.by_op_[i].begin(), egraph_.by_op_[i].end())) {
        return broken(4, "order of the nodes of operator " + egraph_.ops_.text(OpId(i)));
      }
    }
    return base::ok();
  }

  // Every row belongs to one class or is free. With a checkpoint, rows of classes merged away since
  // push() are kept for pop().
  Status check_rows() const {
    std::set<std::uint32_t> rows(egraph_.free_rows_.begin(), egraph_.free_rows_.end());
    std::size_t count = egraph_.free_rows_.size();
    for (const ClassId id : egraph_.classes()) rows.insert(egraph_.row_of(id)), ++count;
    const bool all = rows.size() == egraph_.rows_.size() || egraph_.checkpoints() > 0;
    const bool within = rows.empty() || *rows.rbegin() < egraph_.rows_.size();
    const bool of_data =
        egraph_.analysis_ == nullptr || egraph_.data_.size() == egraph_.rows_.size();
    return rows.size() == count && all && within && of_data ? base::ok() : broken(2, "rows");
  }

  // Each word of the arena belongs to exactly one block, a list's or a free one. Equality of the
  // totals finds leaked and doubly used blocks.
  Status check_list_arena() const {
    std::size_t words = egraph_.lists_.free_words();
    for (const EGraph::Row& row : egraph_.rows_) {
      words += NodeLists::capacity(row.nodes.size);
    }
    if (words != egraph_.lists_.words()) return broken(2, "blocks of the arena of lists");
    return base::ok();
  }

  // Invariant 6: joining make() of a node into its class's data must not change the data.
  Status check_analysis() {
    for (const auto& [id, nodes] : nodes_) {
      for (const NodeId node : nodes) {
        const auto data =
            egraph_.analysis_->make(egraph_, egraph_.op(node), egraph_.children(node));
        if (!data.ok()) return data.status();
        const auto joined = egraph_.analysis_->merge(egraph_.data(id), *data);
        if (!joined.ok()) return joined.status();
        if (*joined != egraph_.data(id)) {
          return broken(6, "data of class " + std::to_string(id.index()));
        }
      }
    }
    return base::ok();
  }

  const EGraph& egraph_;
  std::size_t live_ = 0;
  std::size_t visible_ = 0;
  std::map<ClassId, std::set<NodeId>> nodes_;
  std::map<ClassId, std::set<NodeId>> parents_;
  std::map<OpId, std::set<NodeId>> by_op_;
};

Status EGraph::check_invariants() const { return InvariantChecker(*this).run(); }

}  // namespace egret::egraph
