// SPDX-License-Identifier: Apache-2.0
// Deferred congruence closure (Willsey et al., egg, POPL 2021, section 3; Downey, Sethi, Tarjan
// 1980): only the parents of classes that were merged away have a child that is no longer
// canonical, so they alone are taken out of the hash-cons, rewritten in place and put back. One
// that meets an equal node dies, and the classes of the two are merged, which may queue further
// parents. Lists are then put in order for the touched classes and operators only.
//
// In a large e-graph nearly every step is a cache miss. All loops here therefore walk an array and
// fetch, some items ahead, what the items will need (Chen, Ailamaki, Gibbons, Mowry 2004,
// "Improving hash join performance through prefetching"): at each distance what the one before
// brought in.
#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/small_vector.h"
#include "egraph/egraph.h"
#include "egraph/node_hash.h"

namespace egret::egraph {

using base::Status;

Status EGraph::rebuild() {
  Status conflict;
  if (clean_) return conflict;
  list_new_nodes();
  while (!to_repair_.empty() || !to_reanalyse_.empty()) {
    // Congruence first: analysing a node that is about to die would be wasted.
    repair_all(conflict);
    if (to_reanalyse_.empty()) continue;
    const NodeId node = to_reanalyse_.back();
    to_reanalyse_.pop_back();
    reanalyse(node, conflict);
    list_new_nodes();  // of modify()
  }
  shorten_paths();
  refresh_lists();
  compact_lists();
  release_queues();
  ++changes_;
  end_epoch();
  clean_ = true;
  return conflict;
}

void EGraph::list_new_nodes() {
  constexpr int kFar = 24;
  constexpr int kNear = 12;
  const std::size_t end = words_.size();
  if (unlisted_.index() == end) return;
  if (by_op_.size() < ops_.op_count()) by_op_.resize(ops_.op_count());
  std::size_t far = is_large() ? unlisted_.index() : end;  // what is in the caches is not fetched
  std::size_t near = far;
  const auto advance = [&](std::size_t& word, auto prefetch) {
    if (word >= end) return;
    const NodeId node(word);
    for (const ClassId child : children(node)) prefetch(child);
    word = node_after(node).index();
  };
  const auto fetch_row = [this](ClassId id) {
    classes_.prefetch(id);
    __builtin_prefetch(&rows_[id.index()]);
  };
  const auto fetch_list = [this](ClassId id) { lists_.prefetch_end(rows_[id.index()].parents); };
  for (int i = 0; i < kFar; ++i) advance(far, fetch_row);
  for (int i = 0; i < kNear; ++i) advance(near, fetch_list);
  for (std::size_t word = unlisted_.index(); word < end;) {
    advance(far, fetch_row);
    advance(near, fetch_list);
    const NodeId node(word);
    const OpId op = this->op(node);
    if (!dead(node)) {
      bool canonical = true;
      bool analysed = true;
      for (const ClassId child : children(node)) {
        const ClassId id = find(child);
        canonical = canonical && id == child;
        if (!checkpoints_.empty()) remember_row(id);
        Row& row = rows_[id.index()];
        analysed = analysed && (row.touches & kDataChanged) == 0;
        const bool repeated = row.parents.size > 0 && lists_.items(row.parents).back() == node;
        if (!repeated) lists_.append(row.parents, node);
      }
      if (!canonical) to_repair_.push_back(node);
      if (!analysed) to_reanalyse_.push_back(node);
    }
    FlatArray<NodeId>& same_op = by_op_[op.index()];
    by_op_bytes_ -= same_op.bytes();
    same_op.push_back(node);
    by_op_bytes_ += same_op.bytes();
    word = node_after(node).index();
  }
  unlisted_ = NodeId(end);
}

void EGraph::repair_all(Status& conflict) {
  constexpr std::size_t kFar = 24;
  constexpr std::size_t kMiddle = 16;
  constexpr std::size_t kNear = 8;
  while (!to_repair_.empty()) {
    std::swap(to_repair_, repairing_);
    const std::size_t count = repairing_.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (i + kFar < count) __builtin_prefetch(&words_[repairing_[i + kFar].index()]);
      if (i + kMiddle < count) {
        for (const ClassId child : children(repairing_[i + kMiddle])) classes_.prefetch(child);
      }
      if (i + kNear < count) prefetch_repair(repairing_[i + kNear]);
      repair(repairing_[i], conflict);
    }
    repairing_.clear();
    list_new_nodes();  // of modify()
  }
}

// Where the hash-cons will be changed.
void EGraph::prefetch_repair(NodeId node) const {
  constexpr std::size_t kMaxArity = 4;
  const auto kids = children(node);
  if (dead(node) || kids.size() > kMaxArity) return;
  std::array<ClassId, kMaxArity> canonical;
  std::transform(kids.begin(), kids.end(), canonical.begin(),
                 [this](ClassId k) { return find(k); });
  if (std::equal(kids.begin(), kids.end(), canonical.begin())) return;
  hash_cons_.prefetch(node_hash(op(node), kids));
  hash_cons_.prefetch(node_hash(op(node), {canonical.data(), kids.size()}));
}

void EGraph::repair(NodeId node, Status& conflict) {
  if (dead(node)) return;
  ++counts_.ticks;
  const auto kids = mutable_children(node);
  if (std::all_of(kids.begin(), kids.end(), [&](ClassId k) { return is_canonical(k); })) return;

  if (!checkpoints_.empty()) remember_node(node);
  const OpId op = this->op(node);
  hash_cons_.erase(node_hash(op, kids), node);
  for (ClassId& kid : kids) kid = classes_.find_compress(kid);
  const std::uint32_t h = node_hash(op, kids);
  const NodeId equal = find_node(h, op, kids);
  stamp(class_of(node));
  if (!equal.valid()) {
    hash_cons_.insert(h, node);
    ++counts_.keys_inserted;
    moved_.push_back(node);
    return;
  }
  // Of the two, a visible one survives.
  const bool replace = visible(node) && !visible(equal);
  if (replace) {
    hash_cons_.erase(h, equal);
    hash_cons_.insert(h, node);
    moved_.push_back(node);
  }
  bury(replace ? equal : node);
  force_merge(node, equal, conflict);
}

// A node that congruence made superfluous.
void EGraph::bury(NodeId node) {
  if (visible(node)) {
    --counts_.visible;
    touch(class_of(node), kNodesStale);
    touch_op(op(node));
  }
  set_flag(node, kDead);
  for (const ClassId child : children(node)) touch(find(child), kParentsStale);
}

// merge() of two nodes' classes that congruence demands: where the analysis objects, its data stays
// that of the root.
void EGraph::force_merge(NodeId node, NodeId equal, Status& conflict) {
  ProofLog::Reason reason;
  reason.kind = ProofLog::Kind::kCongruence;
  reason.op = op(node);
  reason.classes = children(node);
  ClassId a = class_of(node);
  ClassId b = class_of(equal);
  base::Result<bool> merged = merge(a, b, &reason);
  if (merged.ok()) return;
  if (conflict.ok()) conflict = merged.status();
  if (b < a) std::swap(a, b);
  if (proofs_ != nullptr) proofs_->add_merge(a, b, &reason);
  link(a, b, data_[a.index()]);
  drain_modify();
}

void EGraph::reanalyse(NodeId node, Status& conflict) {
  if (dead(node)) return;
  ++counts_.ticks;
  const ClassId id = class_of(node);
  base::SmallVector<ClassId, 8> kids(children(node).begin(), children(node).end());
  for (ClassId& kid : kids) kid = find(kid);
  const auto data = analysis_->make(*this, op(node), {kids.data(), kids.size()});
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

// Drops the oldest part of the record of moved nodes once it is long: who was away for that long
// had better look at everything.
void EGraph::end_epoch() {
  const std::uint64_t dropped = epoch_marks_.front().moved;
  const std::uint64_t end = dropped + moved_.size();
  epoch_marks_.push_back({++epoch_, next_node(), end});
  constexpr std::size_t kMaxMarks = 4096;
  const std::uint64_t max_moved = 1024 + counts_.visible / 4;
  std::size_t first = epoch_marks_.size() > kMaxMarks ? epoch_marks_.size() - kMaxMarks / 2 : 0;
  while (end - epoch_marks_[first].moved > max_moved) ++first;
  if (first == 0) return;
  const std::size_t forgotten = epoch_marks_[first].moved - dropped;
  std::copy(moved_.begin() + forgotten, moved_.end(), moved_.begin());
  moved_.truncate(moved_.size() - forgotten);
  epoch_marks_.erase(epoch_marks_.begin(),
                     epoch_marks_.begin() + static_cast<std::ptrdiff_t>(first));
}

void EGraph::touch(ClassId id, std::uint8_t what) {
  clean_ = false;
  if (!checkpoints_.empty()) remember_row(id);
  Row& row = rows_[id.index()];
  if (row.touches == 0) touched_.push_back(id);
  row.touches |= what;
}

void EGraph::touch_op(OpId op) {
  if (op.index() >= op_touched_.size()) op_touched_.resize(ops_.op_count());
  if (op_touched_[op.index()]) return;
  op_touched_[op.index()] = true;
  touched_ops_.push_back(op);
}

void EGraph::refresh_lists() {
  // A class touched before it was merged away has handed its bits on (see link()).
  for (std::size_t i = 0; i < touched_.size(); ++i) {
    prefetch_refresh(i);
    const ClassId id = touched_[i];
    const std::uint8_t what = std::exchange(rows_[id.index()].touches, 0);
    if (!is_canonical(id)) continue;
    if (!checkpoints_.empty()) remember_lists(id);
    if ((what & kNodesStale) != 0) refresh_nodes(id);
    if ((what & (kParentsStale | kParentsUnsorted)) != 0) refresh_parents(id, what);
  }
  touched_.clear();
  for (const OpId op : touched_ops_) {
    op_touched_[op.index()] = false;
    if (!checkpoints_.empty()) remember_op(op);
    if (op.index() >= by_op_.size()) continue;
    FlatArray<NodeId>& list = by_op_[op.index()];
    const auto end =
        std::remove_if(list.begin(), list.end(), [this](NodeId node) { return !visible(node); });
    list.truncate(static_cast<std::size_t>(end - list.begin()));
  }
  touched_ops_.clear();
}

// What the classes some places behind this one in touched_ will need: rows, then lists, then nodes.
void EGraph::prefetch_refresh(std::size_t touched) const {
  constexpr std::size_t kFar = 24;
  constexpr std::size_t kMiddle = 16;
  constexpr std::size_t kNear = 8;
  constexpr std::size_t kMaxNodes = 8;
  const auto row = [&](std::size_t ahead) -> const Row& {
    return rows_[touched_[touched + ahead].index()];
  };
  if (touched + kFar >= touched_.size()) return;
  __builtin_prefetch(&row(kFar));
  classes_.prefetch(touched_[touched + kFar]);
  lists_.prefetch(row(kMiddle).nodes);
  lists_.prefetch(row(kMiddle).parents);
  const Row& next = row(kNear);
  const auto fetch_nodes = [&](const List& list) {
    const auto items = lists_.items(list);
    for (const NodeId node : items.first(std::min(kMaxNodes, items.size()))) {
      __builtin_prefetch(&words_[node.index()]);
    }
  };
  fetch_nodes(next.nodes);
  if ((next.touches & kParentsStale) != 0) fetch_nodes(next.parents);
}

void EGraph::refresh_nodes(ClassId id) {
  List& list = rows_[id.index()].nodes;
  const auto items = lists_.items(list);
  std::uint64_t mask = 0;
  scratch_.clear();
  for (const NodeId node : items) {
    const std::uint32_t head = words_[node.index()].index();
    if ((head & kFlags) != 0) continue;
    words_[node.index() + 1] = id;
    mask |= mask_bit(ops_.base_of(OpId(head)));
    scratch_.push_back((std::uint64_t{head} << 32) | node.index());
  }
  std::sort(scratch_.begin(), scratch_.end());  // by operator, then by id
  std::transform(scratch_.begin(), scratch_.end(), items.begin(),
                 [](std::uint64_t key) { return NodeId(static_cast<std::uint32_t>(key)); });
  rows_[id.index()].mask = mask;
  lists_.shrink(list, static_cast<std::uint32_t>(scratch_.size()));
}

void EGraph::refresh_parents(ClassId id, std::uint8_t what) {
  List& list = rows_[id.index()].parents;
  const auto items = lists_.items(list);
  auto end = items.end();
  if ((what & kParentsStale) != 0) {
    constexpr std::size_t kAhead = 8;
    auto kept = items.begin();
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i + kAhead < items.size()) __builtin_prefetch(&words_[items[i + kAhead].index()]);
      if (!dead(items[i])) *kept++ = items[i];
    }
    end = kept;
  }
  if ((what & kParentsUnsorted) != 0) {
    // Most of it is in order already: a long list that short ones were appended to.
    const auto tail = std::is_sorted_until(items.begin(), end);
    std::sort(tail, end);
    std::inplace_merge(items.begin(), tail, end);
    end = std::unique(items.begin(), end);
  }
  lists_.shrink(list, static_cast<std::uint32_t>(end - items.begin()));
}

// When an eighth of the arena of lists is free, all move together, in order of classes.
void EGraph::compact_lists() {
  constexpr std::size_t kSmall = 4096;
  if (lists_.free_words() < kSmall || lists_.free_words() < lists_.words() / 8) return;
  NodeLists moved;
  for (Row& row : rows_) {
    moved.take(row.nodes, lists_);
    moved.take(row.parents, lists_);
  }
  lists_ = std::move(moved);
}

// They are as long as what happened since the last rebuild; memory that matters goes back.
void EGraph::release_queues() {
  const auto release = [](auto& queue) {
    constexpr std::size_t kKept = std::size_t{1} << 16;
    queue.clear();
    if (queue.bytes() > kKept) queue.shrink_to_fit();
  };
  release(to_repair_);
  release(repairing_);
  release(to_reanalyse_);
  release(to_modify_);
  release(merged_away_);
  release(touched_);
  release(scratch_);
}

}  // namespace egret::egraph
