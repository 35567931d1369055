// SPDX-License-Identifier: Apache-2.0
// Deferred congruence closure (Willsey et al., egg, POPL 2021, section 3; Downey, Sethi, Tarjan
// 1980): only the parents of classes that were merged away have a child that is no longer
// canonical, so they alone are taken out of the hash-cons, rewritten in place and put back. One
// that meets an equal node dies, and the classes of the two are merged, which may queue further
// parents. Lists are then put in order for the touched classes and operators only.
#include <algorithm>

#include "base/check.h"
#include "egraph/egraph.h"

namespace egret::egraph {

using base::Status;

Status EGraph::rebuild() {
  Status conflict;
  if (clean_) {
    end_epoch();
    return conflict;
  }
  while (!to_repair_.empty() || !to_reanalyse_.empty()) {
    // Congruence first: analysing a node that is about to die would be wasted.
    while (!to_repair_.empty()) {
      const NodeId node = to_repair_.back();
      to_repair_.pop_back();
      repair(node, conflict);
    }
    if (!to_reanalyse_.empty()) {
      const NodeId node = to_reanalyse_.back();
      to_reanalyse_.pop_back();
      reanalyse(node, conflict);
    }
  }
  shorten_paths();
  refresh_lists();
  ++changes_;
  end_epoch();
  clean_ = true;
  return conflict;
}

void EGraph::repair(NodeId node, Status& conflict) {
  if (dead(node)) return;
  ++ticks_;
  const auto kids = mutable_children(node);
  if (std::all_of(kids.begin(), kids.end(), [&](ClassId k) { return is_canonical(k); })) return;

  const OpId op = this->op(node);
  hash_cons_.erase(hash(op, kids), node);
  for (std::size_t i = 0; i < kids.size(); ++i) {
    const ClassId canonical = classes_.find_compress(kids[i]);
    if (canonical == kids[i]) continue;
    kids[i] = canonical;
    // The node may now be in this class's parent list once for each place. (Counting places is
    // not worth it for the rare node with very many.)
    constexpr std::size_t kCounted = 16;
    if (kids.size() > kCounted || std::count(kids.begin(), kids.end(), canonical) > 1) {
      touch(canonical, kParentsRepeated);
    }
  }
  const std::uint32_t h = hash(op, kids);
  const NodeId equal = find_node(h, op, kids);
  if (!equal.valid()) {
    hash_cons_.insert(h, node);
    ++keys_inserted_;
    moved_.push_back(node);
    stamp(class_of(node));
    return;
  }
  // Of the two, a visible one survives.
  const bool replace = visible(node) && !visible(equal);
  if (replace) {
    hash_cons_.erase(h, equal);
    hash_cons_.insert(h, node);
  }
  if (replace) moved_.push_back(node);
  stamp(class_of(node));
  bury(replace ? equal : node);
  force_merge(class_of(node), class_of(equal), conflict);
}

// A node that congruence made superfluous.
void EGraph::bury(NodeId node) {
  if (visible(node)) {
    --visible_;
    touch(class_of(node), kNodesStale);
    touch_op(op(node));
  }
  set_flag(node, kDead);
  for (const ClassId child : children(node)) touch(find(child), kParentsStale);
}

// merge() that congruence demands: where the analysis objects, its data stays that of the root.
void EGraph::force_merge(ClassId a, ClassId b, Status& conflict) {
  base::Result<bool> merged = merge(a, b);
  if (merged.ok()) return;
  if (conflict.ok()) conflict = merged.status();
  a = find(a);
  b = find(b);
  if (b < a) std::swap(a, b);
  link(a, b, data_[a.index()]);
  drain_modify();
}

void EGraph::reanalyse(NodeId node, Status& conflict) {
  if (dead(node)) return;
  ++ticks_;
  const ClassId id = class_of(node);
  Children kids(children(node).begin(), children(node).end());
  for (ClassId& kid : kids) kid = find(kid);
  const auto data = analysis_->make(*this, op(node), kids);
  // The node was accepted once; what refuses it now is what its children have become.
  const auto merged = data.ok() ? analysis_->merge(data_[id.index()], *data) : data;
  if (!merged.ok()) {
    if (conflict.ok()) conflict = merged.status();
    return;
  }
  if (*merged == data_[id.index()]) return;
  changed(id);
  data_[id.index()] = *merged;
  to_modify_.push_back(id);
  drain_modify();
}

// find() does not write, so that it may be called from several threads; here is where paths get
// short again: those of the ids merged away, and all once that many were.
void EGraph::shorten_paths() {
  if (merged_away_.size() > classes_.size() / 16) {
    for (std::size_t i = 0; i < classes_.size(); ++i) classes_.find_compress(ClassId(i));
  } else {
    for (const ClassId id : merged_away_) classes_.find_compress(id);
  }
  merged_away_.clear();
}

// Drops the oldest part of the record of moved nodes once it is long: who was away for that long had
// better look at everything.
void EGraph::end_epoch() {
  if (epoch_marks_.back().next_node == next_node() && changes_at_epoch_ == changes_) return;
  const std::uint64_t dropped = epoch_marks_.front().moved;
  const std::uint64_t end = dropped + moved_.size();
  changes_at_epoch_ = changes_;
  epoch_marks_.push_back({++epoch_, next_node(), end});
  constexpr std::size_t kMaxMarks = 4096;
  const std::uint64_t max_moved = 1024 + visible_ / 16;
  std::size_t first = epoch_marks_.size() > kMaxMarks ? epoch_marks_.size() - kMaxMarks / 2 : 0;
  while (end - epoch_marks_[first].moved > max_moved) ++first;
  if (first == 0) return;
  moved_.erase(moved_.begin(),
               moved_.begin() + static_cast<std::ptrdiff_t>(epoch_marks_[first].moved - dropped));
  epoch_marks_.erase(epoch_marks_.begin(),
                     epoch_marks_.begin() + static_cast<std::ptrdiff_t>(first));
}

void EGraph::touch(ClassId id, std::uint8_t what) {
  clean_ = false;
  if (touches_[id.index()] == 0) touched_.push_back(id);
  touches_[id.index()] |= what;
}

void EGraph::touch_op(OpId op) {
  if (op.index() >= op_touched_.size()) op_touched_.resize(ops_.op_count());
  if (op_touched_[op.index()]) return;
  op_touched_[op.index()] = true;
  touched_ops_.push_back(op);
}

void EGraph::refresh_lists() {
  // A class touched before it was merged away hands its bits on.
  for (std::size_t i = 0; i < touched_.size(); ++i) {
    const ClassId id = touched_[i];
    const std::uint8_t what = touches_[id.index()];
    if (is_canonical(id) || what == 0) continue;
    touches_[id.index()] = 0;
    touch(find(id), what);
  }
  for (const ClassId id : touched_) {
    if (const std::uint8_t what = touches_[id.index()]; what != 0) refresh_class(id, what);
    touches_[id.index()] = 0;
  }
  touched_.clear();
  for (const OpId op : touched_ops_) {
    List& list = by_op_[op.index()];
    const auto items = lists_.items(list);
    const auto end =
        std::remove_if(items.begin(), items.end(), [this](NodeId node) { return !visible(node); });
    lists_.shrink(list, static_cast<std::uint32_t>(end - items.begin()));
    op_touched_[op.index()] = false;
  }
  touched_ops_.clear();
}

void EGraph::refresh_class(ClassId id, std::uint8_t what) {
  if ((what & kNodesStale) != 0) {
    List& list = nodes_[id.index()];
    const auto items = lists_.items(list);
    const auto end =
        std::remove_if(items.begin(), items.end(), [this](NodeId node) { return !visible(node); });
    std::sort(items.begin(), end,
              [this](NodeId a, NodeId b) { return op(a) != op(b) ? op(a) < op(b) : a < b; });
    std::uint64_t mask = 0;
    for (auto node = items.begin(); node != end; ++node) {
      mask |= mask_bit(ops_.base_of(op(*node)));
      words_[node->index() + 1] = id;
    }
    masks_[id.index()] = mask;
    lists_.shrink(list, static_cast<std::uint32_t>(end - items.begin()));
  }
  if ((what & (kParentsStale | kParentsRepeated)) != 0) {
    List& list = parents_[id.index()];
    const auto items = lists_.items(list);
    auto end =
        std::remove_if(items.begin(), items.end(), [this](NodeId node) { return dead(node); });
    if ((what & kParentsRepeated) != 0) {
      std::sort(items.begin(), end);
      end = std::unique(items.begin(), end);
    }
    lists_.shrink(list, static_cast<std::uint32_t>(end - items.begin()));
  }
}

}  // namespace egret::egraph
