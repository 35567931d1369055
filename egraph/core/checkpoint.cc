// SPDX-License-Identifier: Apache-2.0
// push() and pop(). A checkpoint is an undo log: it saves old content only for the parts that
// change after push(). A row is saved before its first change, and a node record before each
// change. The items of a list are saved before any operation other than appending. pop() writes the
// saved content back and truncates the arrays to their old lengths.
//
// Only the innermost checkpoint records. Its pop() restores the state at its push(), so the
// enclosing checkpoint has missed no change.
#include "egraph/core/checkpoint.h"

#include <algorithm>

#include "base/check.h"
#include "egraph/core/egraph.h"
#include "egraph/core/node_hash.h"

namespace egret::egraph {

EGraph::EGraph(OpTable& ops, Analysis* analysis) : ops_(ops), analysis_(analysis) {}
EGraph::~EGraph() = default;

// The cost of push() is that of the epoch record; nothing else is copied. The cost of pop() is
// proportional to the changes since push(), apart from one truncation per operator list.
void EGraph::push() {
  EGRET_CHECK(clean_ && !modifying_, "push() before rebuild()");
  auto checkpoint = std::make_unique<Checkpoint>();
  checkpoint->words = words_.size();
  checkpoint->ids = classes_.size();
  checkpoint->row_count = rows_.size();
  if (proofs_ != nullptr) checkpoint->proofs = proofs_->mark();
  checkpoint->counts = counts_;
  checkpoint->epoch = epoch_;
  checkpoint->epoch_marks = epoch_marks_;
  checkpoint->moved.append(moved_);
  checkpoints_.push_back(std::move(checkpoint));
  classes_.set_log(&checkpoints_.back()->links);
}

// Only the first change of a row is saved: the log must hold the content at push(). A row that was
// made later needs none, because pop() truncates it away.
void EGraph::remember_row(ClassId id) {
  Checkpoint& old = *checkpoints_.back();
  if (id.index() >= old.ids) return;
  if (!old.row_of.try_emplace(id.index(), old.rows.size()).second) return;
  old.rows.push_back({id, row(id), data_.empty() ? 0 : data_[row_of(id)]});
}

// Must be called before a list is reordered, filtered or moved to another class. Until then only
// appends happened, so the old items are still a prefix of the list.
void EGraph::remember_lists(ClassId id) {
  Checkpoint& old = *checkpoints_.back();
  if (id.index() >= old.ids) return;
  remember_row(id);
  Checkpoint::OldRow& row = old.rows[old.row_of[id.index()]];
  if (row.has_items) return;
  row.has_items = true;
  row.items_begin = old.items.size();
  old.items.append(nodes(id).first(row.row.nodes.size));
}

// Each record is followed by its node's position. pop() reads the log from its end, finds the
// position first, and learns the length of the record from the arena.
void EGraph::remember_node(NodeId node) {
  Checkpoint& old = *checkpoints_.back();
  if (node.index() >= old.words) return;
  const std::size_t size = record_size(ops_.arity(op(node)));
  old.records.append(words_.span().subspan(node.index(), size));
  old.records.push_back(ClassId(node.index()));
}

// Only the nodes below old.words existed at push(). Lists are sorted by id, so these nodes are a
// prefix.
void EGraph::remember_op(OpId op) {
  Checkpoint& old = *checkpoints_.back();
  const auto [entry, fresh] = old.ops.try_emplace(op);
  if (!fresh || op.index() >= by_op_.size()) return;
  const FlatArray<NodeId>& list = by_op_[op.index()];
  const auto end = std::lower_bound(list.begin(), list.end(), NodeId(old.words));
  entry->second.assign(list.begin(), end);
}

void EGraph::pop() {
  EGRET_CHECK(!checkpoints_.empty() && !modifying_, "pop() without push()");
  const std::unique_ptr<Checkpoint> old = std::move(checkpoints_.back());
  checkpoints_.pop_back();
  classes_.set_log(nullptr);
  restore_nodes(*old);
  restore_classes(*old);
  restore_ops(*old);
  // push() requires a clean e-graph: nothing was queued then.
  for (FlatArray<NodeId>* queue : {&to_repair_, &to_reanalyse_}) queue->clear();
  for (FlatArray<ClassId>* queue : {&to_modify_, &touched_}) queue->clear();
  merged_away_.clear();
  chained_ = 0;
  if (proofs_ != nullptr) proofs_->restore(old->proofs);
  counts_ = old->counts;
  epoch_ = old->epoch;
  epoch_marks_ = std::move(old->epoch_marks);
  moved_ = std::move(old->moved);
  unlisted_ = next_node();
  ++changes_;  // no savepoint reaches across
  clean_ = true;
  classes_.set_log(checkpoints_.empty() ? nullptr : &checkpoints_.back()->links);
}

// Restores the node records and their hash-cons entries. The hash-cons finds a node by its content,
// so three steps are needed: erase every affected node under its present content, restore the old
// content, insert every affected node under its old content.
void EGraph::restore_nodes(const Checkpoint& old) {
  std::vector<NodeId> rewritten;
  const auto forget = [this](NodeId node) {
    if (!dead(node)) hash_cons_.erase(node_hash(op(node), children(node)), node);
  };
  // From the last saved record to the first. A record saved several times thus ends with its oldest
  // content.
  for (std::size_t end = old.records.size(); end > 0;) {
    const NodeId node(old.records[end - 1].index());
    rewritten.push_back(node);
    end -= record_size(ops_.arity(op(node))) + 1;
  }
  // Several saves of one node are one node for the hash-cons, which must be told once.
  std::vector<NodeId> once = rewritten;
  std::sort(once.begin(), once.end());
  once.erase(std::unique(once.begin(), once.end()), once.end());
  std::for_each(once.begin(), once.end(), forget);
  for (std::size_t word = old.words; word < words_.size();
       word = node_after(NodeId(word)).index()) {
    forget(NodeId(word));
  }
  words_.truncate(old.words);
  std::size_t end = old.records.size();
  for (const NodeId node : rewritten) {
    const std::size_t size = record_size(ops_.arity(op(node)));
    end -= size + 1;
    std::copy_n(old.records.begin() + end, size, words_.begin() + node.index());
  }
  for (const NodeId node : once) {
    if (!dead(node)) hash_cons_.insert(node_hash(op(node), children(node)), node);
  }
}

// Rows that were made since push() are dropped. A list that only grew is cut to its old size in
// place; otherwise a new list is built from the saved items.
void EGraph::restore_classes(Checkpoint& old) {
  for (std::size_t i = old.row_count; i < rows_.size(); ++i) lists_.shrink(rows_[i].nodes, 0);
  rows_.truncate(old.row_count);
  data_.truncate(old.row_count);
  classes_.undo(old.links, old.ids);
  for (const Checkpoint::OldRow& saved : old.rows) {
    Row& row = this->row(saved.id);
    Row restored = saved.row;
    const std::uint32_t nodes = restored.nodes.size;
    lists_.shrink(row.nodes, saved.has_items ? 0 : nodes);
    restored.nodes = row.nodes;
    if (saved.has_items) {
      restored.nodes = lists_.make(old.items.span().subspan(saved.items_begin, nodes));
    }
    row = restored;
    if (!data_.empty()) data_[row_of(saved.id)] = saved.data;
    // The class word of a listed node may have been overwritten by a later merge.
    for (const NodeId node : this->nodes(saved.id)) words_[node.index() + 1] = saved.id;
  }
}

// Most lists only grew, and the new nodes are at their end. Only a list from which a hidden or dead
// node was removed has saved items.
void EGraph::restore_ops(const Checkpoint& old) {
  by_op_bytes_ = 0;
  for (FlatArray<NodeId>& list : by_op_) {
    const auto end = std::lower_bound(list.begin(), list.end(), NodeId(old.words));
    list.truncate(static_cast<std::size_t>(end - list.begin()));
  }
  for (const auto& [op, items] : old.ops) {
    if (op.index() >= by_op_.size()) continue;
    by_op_[op.index()].clear();
    by_op_[op.index()].append(items);
  }
  for (const FlatArray<NodeId>& list : by_op_) by_op_bytes_ += list.bytes();
  for (const OpId op : touched_ops_) op_touched_[op.index()] = false;
  touched_ops_.clear();
}

std::size_t EGraph::checkpoint_bytes() const {
  std::size_t bytes = 0;
  for (const auto& checkpoint : checkpoints_) bytes += checkpoint->bytes();
  return bytes;
}

}  // namespace egret::egraph
