// SPDX-License-Identifier: Apache-2.0
#include "egraph/egraph.h"

#include <algorithm>

#include "base/check.h"

namespace egret::egraph {

using base::Result;
using base::Status;

// Multiply-rotate over the words (the hash of Firefox and of rustc); the high half of the last
// product is its well-mixed half.
std::uint32_t EGraph::hash(OpId op, std::span<const ClassId> children) {
  constexpr std::uint64_t kFactor = 0x517cc1b727220a95ULL;
  std::uint64_t h = (op.index() + 1) * kFactor;
  for (const ClassId child : children) {
    h = (((h << 5) | (h >> 59)) ^ child.index()) * kFactor;
  }
  h ^= h >> 29;
  return static_cast<std::uint32_t>((h * kFactor) >> 32);
}

NodeId EGraph::find_node(std::uint32_t hash, OpId op, std::span<const ClassId> children) const {
  return hash_cons_.find(hash, [&](NodeId node) {
    return this->op(node) == op &&
           std::equal(children.begin(), children.end(), words_.begin() + node.index() + kHeader);
  });
}

Result<ClassId> EGraph::add(OpId op, std::span<const ClassId> children) {
  EGRET_CHECK(children.size() == ops_.arity(op), "wrong number of children");
  ++ticks_;
  Children canonical(children.begin(), children.end());
  for (ClassId& child : canonical) child = classes_.find_compress(child);
  const std::uint32_t h = hash(op, canonical);
  if (const NodeId node = find_node(h, op, canonical); node.valid()) return class_of(node);

  if (words_.size() + kHeader + canonical.size() >= 0xffffffffU) {
    return base::limit_hit("the e-graph's arena is full (2^32 words)");
  }
  Analysis::Data data = 0;
  if (analysis_ != nullptr) {
    EGRET_ASSIGN_OR_RETURN(data, analysis_->make(*this, op, canonical));
  }
  const ClassId id = make_class(op, canonical, h, data);
  if (analysis_ == nullptr) return id;
  to_modify_.push_back(id);
  drain_modify();
  return find(id);
}

// Writes the record of a new node and makes a class of it alone.
ClassId EGraph::make_class(OpId op, std::span<const ClassId> children, std::uint32_t hash,
                           Analysis::Data data) {
  const NodeId node(words_.size());
  const ClassId id = classes_.make();
  words_.push_back(ClassId(op.index()));
  words_.push_back(id);
  words_.insert(words_.end(), children.begin(), children.end());
  hash_cons_.insert(hash, node);
  ++keys_inserted_;

  nodes_.emplace_back();
  parents_.emplace_back();
  masks_.push_back(mask_bit(ops_.base_of(op)));
  touches_.push_back(0);
  epochs_.push_back(epoch_);
  if (analysis_ != nullptr) data_.push_back(data);
  lists_.append(nodes_.back(), node);
  if (op.index() >= by_op_.size()) by_op_.resize(ops_.op_count());
  lists_.append(by_op_[op.index()], node);
  for (const ClassId child : children) {
    List& parents = parents_[child.index()];
    const bool repeated = parents.size > 0 && lists_.items(parents).back() == node;
    if (!repeated) lists_.append(parents, node);
  }
  ++visible_;
  ++class_count_;
  return id;
}

Result<bool> EGraph::merge(ClassId a, ClassId b) {
  a = classes_.find_compress(a);
  b = classes_.find_compress(b);
  if (a == b) return false;
  Analysis::Data merged = 0;
  if (analysis_ != nullptr) {
    EGRET_ASSIGN_OR_RETURN(merged, analysis_->merge(data_[a.index()], data_[b.index()]));
  }
  // The class with more parents stays: only the other's parents need repair.
  const std::size_t parents_a = parents_[a.index()].size;
  const std::size_t parents_b = parents_[b.index()].size;
  if (parents_a < parents_b || (parents_a == parents_b && b < a)) std::swap(a, b);
  link(a, b, merged);
  drain_modify();
  return true;
}

void EGraph::link(ClassId root, ClassId child, Analysis::Data merged) {
  const std::size_t r = root.index();
  const std::size_t c = child.index();
  classes_.link(root, child);
  merged_away_.push_back(child);
  clean_ = false;
  ++changes_;
  ++merge_count_;
  --class_count_;
  const auto orphans = lists_.items(parents_[c]);
  to_repair_.insert(to_repair_.end(), orphans.begin(), orphans.end());
  if (analysis_ != nullptr) {
    if (data_[r] != merged) changed(root);
    if (data_[c] != merged) changed(child);
    data_[r] = merged;
    to_modify_.push_back(root);
  }
  const auto movers = lists_.items(nodes_[c]);
  moved_.insert(moved_.end(), movers.begin(), movers.end());
  stamp(root);
  lists_.append_all(nodes_[r], nodes_[c]);
  lists_.append_all(parents_[r], parents_[c]);
  masks_[r] |= masks_[c];
  touch(root, static_cast<std::uint8_t>(touches_[c] | kNodesStale));
}

// The data of this class is about to change: its parents must be analysed again.
void EGraph::changed(ClassId id) {
  const auto parents = lists_.items(parents_[id.index()]);
  to_reanalyse_.insert(to_reanalyse_.end(), parents.begin(), parents.end());
  stamp(id);
  clean_ = false;
}

void EGraph::set_data(ClassId id, Analysis::Data data) {
  EGRET_CHECK(analysis_ != nullptr, "data belongs to an analysis");
  id = find(id);
  if (data_[id.index()] == data) return;
  changed(id);
  ++changes_;
  data_[id.index()] = data;
  to_modify_.push_back(id);
  drain_modify();
}

// modify() may add and merge, which queue further classes here instead of recurring.
void EGraph::drain_modify() {
  if (modifying_ || analysis_ == nullptr) return;
  modifying_ = true;
  while (!to_modify_.empty()) {
    const ClassId id = find(to_modify_.back());
    to_modify_.pop_back();
    analysis_->modify(*this, id);
  }
  modifying_ = false;
}

void EGraph::hide(NodeId node) {
  if (!visible(node)) return;
  set_flag(node, kHidden);
  --visible_;
  ++changes_;
  clean_ = false;
  stamp(class_of(node));
  touch(class_of(node), kNodesStale);
  touch_op(op(node));
}

bool EGraph::rollback(const Savepoint& savepoint) {
  if (savepoint.changes != changes_) return false;
  std::vector<NodeId> added;
  for (std::size_t word = savepoint.words; word < words_.size();) {
    added.emplace_back(word);
    word += kHeader + ops_.arity(op(NodeId(word)));
  }
  // Newest first, so that each node is the last item of every list that holds it.
  for (auto node = added.rbegin(); node != added.rend(); ++node) {
    const auto kids = children(*node);
    hash_cons_.erase(hash(op(*node), kids), *node);
    for (std::size_t i = kids.size(); i-- > 0;) {
      List& parents = parents_[kids[i].index()];
      if (parents.size == 0 || lists_.items(parents).back() != *node) continue;  // a repeated child
      lists_.shrink(parents, parents.size - 1);
    }
    List& same_op = by_op_[op(*node).index()];
    lists_.shrink(same_op, same_op.size - 1);
    lists_.shrink(nodes_.back(), 0);
    nodes_.pop_back();
    parents_.pop_back();
    masks_.pop_back();
    touches_.pop_back();
    epochs_.pop_back();
    if (analysis_ != nullptr) data_.pop_back();
    classes_.unmake();
    --keys_inserted_;
    --visible_;
    --class_count_;
  }
  words_.resize(savepoint.words);
  return true;
}

NodeId EGraph::lookup_node(OpId op, std::span<const ClassId> children) const {
  EGRET_CHECK(children.size() == ops_.arity(op), "wrong number of children");
  Children canonical(children.begin(), children.end());
  for (ClassId& child : canonical) child = find(child);
  return find_node(hash(op, canonical), op, canonical);
}

ClassId EGraph::lookup(OpId op, std::span<const ClassId> children) const {
  const NodeId node = lookup_node(op, children);
  return node.valid() ? class_of(node) : ClassId();
}

std::vector<ClassId> EGraph::classes() const {
  std::vector<ClassId> result;
  result.reserve(class_count_);
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    if (classes_.is_root(ClassId(i))) result.emplace_back(i);
  }
  return result;
}

std::vector<ClassId> EGraph::classes_since(Epoch since) const {
  std::vector<ClassId> result;
  for (std::size_t i = 0; i < epochs_.size(); ++i) {
    if (epochs_[i] >= since && classes_.is_root(ClassId(i))) result.emplace_back(i);
  }
  return result;
}

std::optional<EGraph::NodeChanges> EGraph::nodes_since(Epoch since) const {
  if (since > epoch_) return NodeChanges{next_node(), {}};
  if (since < epoch_marks_.front().epoch) return {};
  const EpochMark& mark = epoch_marks_[since - epoch_marks_.front().epoch];
  return NodeChanges{mark.next_node,
                     std::span(moved_).subspan(mark.moved - epoch_marks_.front().moved)};
}

std::size_t EGraph::bytes() const {
  const auto of = [](const auto& v) { return v.capacity() * sizeof(v[0]); };
  return of(words_) + hash_cons_.bytes() + lists_.bytes() + of(by_op_) + classes_.bytes() +
         of(nodes_) + of(parents_) + of(masks_) + of(data_) + of(touches_) + of(epochs_) + of(epoch_marks_) +
         of(moved_) + of(to_repair_) + of(to_reanalyse_) + of(to_modify_) + of(merged_away_) + of(touched_) + of(touched_ops_) +
         op_touched_.capacity() / 8;
}

}  // namespace egret::egraph
