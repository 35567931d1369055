// SPDX-License-Identifier: Apache-2.0
// Deferred congruence closure (Willsey et al., egg, POPL 2021, section 3; Downey, Sethi, Tarjan
// 1980). Only the parents of merged-away classes have a child that is no longer canonical. Each of
// them is removed from the hash-cons, rewritten in place and reinserted. If it meets an equal node,
// one of the two dies and their classes are merged, which may queue further parents. The loop ends
// because each merge removes a class. Afterwards the lists of touched classes and operators are put
// in order.
//
// In a large e-graph nearly every step is a cache miss. All loops here walk an array and prefetch
// some items ahead (Chen, Ailamaki, Gibbons, Mowry 2004, "Improving hash join performance through
// prefetching"). Each prefetch distance loads what depends on the data loaded at the next longer
// distance.
#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/small_vector.h"
#include "egraph/core/egraph.h"
#include "egraph/core/node_hash.h"

namespace egret::egraph {

using base::Status;

// The order of the passes matters. New nodes enter the parent chains first, because a repair can
// reach a node only through a chain. Congruence and re-analysis alternate until neither has work.
// The lists follow last, when no class can change any more.
//
// Re-analysis ends as well. It queues parents only if it raised a class's value, and the analysis
// is a join semilattice whose chains the client keeps finite.
Status EGraph::rebuild() {
  constexpr std::size_t kFewRows = 1024;
  Status conflict;
  if (clean_) return conflict;
  list_new_nodes();
  chain_parents_of_merged();
  while (!to_repair_.empty() || !to_reanalyse_.empty()) {
    // Congruence first: re-analysing a node that is about to die would be wasted work.
    repair_all(conflict);
    if (to_reanalyse_.empty()) continue;
    const NodeId node = to_reanalyse_.back();
    to_reanalyse_.pop_back();
    reanalyse(node, conflict);
    list_new_nodes();  // nodes made by modify()
    chain_parents_of_merged();
  }
  shorten_paths();
  refresh_lists();
  if (free_rows_.size() > kFewRows && free_rows_.size() > rows_.size() / 2) compact_rows();
  compact_lists();
  release_queues();
  ++changes_;
  end_epoch();
  clean_ = true;
  return conflict;
}

// Enters the nodes made since the last call into the parent chains and operator lists. A node with
// a child merged since is queued for repair. A node whose child's data changed since is queued for
// re-analysis: changed() could not reach it through the chains.
void EGraph::list_new_nodes() {
  constexpr int kFar = 24;
  constexpr int kNear = 12;
  const std::size_t end = words_.size();
  if (unlisted_.index() == end) return;
  if (by_op_.size() < ops_.op_count()) by_op_.resize(ops_.op_count());
  // Two cursors run ahead of the loop. `far` loads the union-find entries of the children. `near`
  // needs these entries to load the rows.
  const std::size_t first = is_large() ? unlisted_.index() : end;  // caches suffice for a small
                                                                   // e-graph: no prefetching
  std::size_t far = first;
  std::size_t near = first;
  const auto advance = [&](std::size_t& ahead, auto prefetch) {
    if (ahead >= end) return;
    const NodeId node(ahead);
    for (const ClassId child : children(node)) prefetch(child);
    ahead = node_after(node).index();
  };
  const auto advance_far = [&] { advance(far, [this](ClassId id) { prefetch_class(id); }); };
  const auto advance_near = [&] { advance(near, [this](ClassId id) { prefetch_row(id); }); };
  for (int i = 0; i < kFar; ++i) advance_far();
  for (int i = 0; i < kNear; ++i) advance_near();
  for (std::size_t word = unlisted_.index(); word < end;) {
    advance_far();
    advance_near();
    const NodeId node(word);
    const OpId op = this->op(node);
    const std::size_t arity = ops_.arity(op);
    if (!dead(node)) {
      // The record still holds the ids that were canonical when the node was made. Each slot goes
      // into the chain of the class that has absorbed its child since.
      bool canonical = true;
      bool analysed = true;
      for (std::size_t slot = word + kHeader; slot < word + kHeader + arity; ++slot) {
        const ClassId child = words_[slot];
        const ClassId id = find(child);
        canonical = canonical && id == child;
        if (!checkpoints_.empty()) remember_row(id);
        Row& row = this->row(id);
        analysed = analysed && (row.touches & kDataChanged) == 0;
        chain(slot, arity, row);
      }
      if (!canonical) to_repair_.push_back(node);
      if (!analysed) to_reanalyse_.push_back(node);
    }
    FlatArray<NodeId>& same_op = by_op_[op.index()];
    by_op_bytes_ -= same_op.bytes();
    same_op.push_back(node);
    by_op_bytes_ += same_op.bytes();
    word += record_size(arity);
  }
  unlisted_ = NodeId(end);
}

// Queues the parents of merged-away classes for repair, and moves them into the parent chain of the
// class that absorbed them. The loop prefetches the rows and chain heads of the next classes.
void EGraph::chain_parents_of_merged() {
  constexpr std::size_t kFar = 16;
  constexpr std::size_t kNear = 8;
  const auto at = [this](std::size_t ahead) { return merged_away_[chained_ + ahead]; };
  for (; chained_ < merged_away_.size(); ++chained_) {
    if (chained_ + kFar < merged_away_.size()) {
      __builtin_prefetch(&rows_[at(kFar).row]);
      classes_.prefetch(at(kFar).id);
    }
    if (chained_ + kNear < merged_away_.size()) {
      __builtin_prefetch(&words_[rows_[at(kNear).row].parents]);
    }
    chain_parents(at(0));
    if (checkpoints_.empty()) free_row(at(0).row);
  }
}

// Walks the chain once to queue its nodes and find its last link, then splices the whole chain
// before the root's chain.
void EGraph::chain_parents(const Merged& merged) {
  Row& from = rows_[merged.row];
  if (from.links == 0) return;
  const ClassId root = find(merged.id);
  if (!checkpoints_.empty()) remember_row(root);
  NodeId node;
  std::size_t link = 0;  // of the last slot
  // merge() keeps the class with more links, so this chain is usually the shorter one. By the
  // smaller-half argument, a link is walked O(log n) times.
  for (Slot slot = from.parents; slot != 0; slot = words_[link].index()) {
    node = node_of(slot);
    link = slot + ops_.arity(op(node));
    if (!dead(node)) to_repair_.push_back(node);
  }
  if (!checkpoints_.empty()) remember_node(node);
  Row& into = row(root);
  // The last link of this chain now points at the first link of the root's chain.
  words_[link] = ClassId(into.parents);
  into.parents = from.parents;
  into.links += from.links;
  add_dead_links(into, from.dead_links);
  from.parents = 0;
  from.links = from.dead_links = 0;
}

// Repairs until no node is queued. A round in which more than 1/8 of the nodes are displaced uses
// one sequential pass instead of random accesses.
void EGraph::repair_all(Status& conflict) {
  constexpr std::size_t kFar = 24;
  constexpr std::size_t kMiddle = 16;
  constexpr std::size_t kNear = 8;
  constexpr std::size_t kFew = 16;
  constexpr std::size_t kFullPassShare = 8;
  while (!to_repair_.empty()) {
    // Parents found during a round wait for the next one. They are then rehashed once for all
    // merges of the round.
    std::swap(to_repair_, repairing_);
    const std::size_t count = repairing_.size();
    if (count > kFew && count > hash_cons_.size() / kFullPassShare) {
      repair_by_pass(conflict);
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        if (i + kFar < count) __builtin_prefetch(&words_[repairing_[i + kFar].index()]);
        if (i + kMiddle < count) {
          for (const ClassId child : children(repairing_[i + kMiddle])) classes_.prefetch(child);
        }
        if (i + kNear < count) prefetch_repair(repairing_[i + kNear]);
        repair(repairing_[i], conflict);
      }
    }
    repairing_.clear();
    list_new_nodes();  // nodes made by modify()
    chain_parents_of_merged();
  }
}

// Full pass, used when many nodes are displaced: reads all records in order and fills the hash-cons
// anew. A block of nodes is made canonical and hashed, and its buckets are prefetched, before any
// of them is looked up. Classes of equal nodes are merged only after all nodes are inserted,
// because merging reads the hash-cons.
void EGraph::repair_by_pass(Status& conflict) {
  constexpr std::size_t kBlock = 32;
  struct Entry {
    NodeId node;
    bool moved;
    std::uint32_t hash;
  };
  struct Equal {
    NodeId dies;
    NodeId stays;
  };
  std::array<Entry, kBlock> block;
  FlatArray<Equal> equal;
  // An empty table needs no removal of stale keys.
  hash_cons_.reset(hash_cons_.size());
  for (std::size_t word = 0; word < words_.size();) {
    std::size_t count = 0;
    for (; count < kBlock && word < words_.size(); word = node_after(NodeId(word)).index()) {
      const NodeId node(word);
      if (dead(node)) continue;
      const bool moved = make_canonical(node);
      block[count] = {node, moved, node_hash(op(node), children(node))};
      hash_cons_.prefetch(block[count++].hash);
    }
    for (const auto& [node, moved, hash] : std::span(block).first(count)) {
      const NodeId known = find_node(hash, op(node), children(node));
      // Of two equal nodes one dies. `replaces`: the node in the table is hidden and this one is
      // not.
      const bool replaces = known.valid() && visible(node) && !visible(known);
      if (known.valid()) equal.push_back({replaces ? known : node, replaces ? node : known});
      if (known.valid() && !replaces) continue;
      if (replaces) hash_cons_.erase(hash, known);  // a visible one survives
      hash_cons_.insert(hash, node);
      if (!moved) continue;
      moved_.push_back(node);
      if (!replaces) ++counts_.keys_inserted;
    }
  }
  // All deaths precede all merges: a merge may run modify(), which must not find a dead node.
  for (const Equal& pair : equal) bury(pair.dies);
  for (const Equal& pair : equal) force_merge(pair.dies, pair.stays, conflict);
}

// Makes the children canonical. Returns whether any child changed.
bool EGraph::make_canonical(NodeId node) {
  const auto kids = mutable_children(node);
  if (std::all_of(kids.begin(), kids.end(), [&](ClassId k) { return is_canonical(k); })) {
    return false;
  }
  if (!checkpoints_.empty()) remember_node(node);
  for (ClassId& kid : kids) kid = classes_.find_compress(kid);
  stamp(class_of(node));
  ++counts_.ticks;
  return true;
}

// Prefetches the hash-cons buckets from which the node will be removed and into which it will be
// inserted.
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

// Rehashes one node whose children have changed. The hash of the old children locates the entry to
// erase, so the record is rewritten only after that. A node that an earlier step repaired or buried
// needs nothing.
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
  // If one of the two nodes is visible, the survivor is visible.
  const bool replace = visible(node) && !visible(equal);
  if (replace) {
    hash_cons_.erase(h, equal);
    hash_cons_.insert(h, node);
    moved_.push_back(node);
  }
  bury(replace ? equal : node);
  force_merge(node, equal, conflict);
}

// Marks a node that congruence made redundant as dead. Its links remain in the parent chains and
// are counted there. Unlinking them here would require a walk of each child's chain.
void EGraph::bury(NodeId node) {
  if (visible(node)) {
    --counts_.visible;
    touch(class_of(node), kNodesStale);
    touch_op(op(node));
  }
  set_flag(node, kDead);
  counts_.dead_words += record_size(ops_.arity(op(node)));
  for (const ClassId child : children(node)) {
    const ClassId id = find(child);
    touch(id, kParentsStale);
    add_dead_links(row(id), 1);
  }
}

// Merges the classes of two congruent nodes. If the analysis refuses, the merge happens anyway, the
// root keeps its data, and `conflict` reports the first refusal. Without the merge, two equal nodes
// would remain in two classes (invariant 1).
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
  link(a, b, data_[row_of(a)]);
  drain_modify();
}

// Recomputes a node's data after its children's data changed, and joins it into its class.
void EGraph::reanalyse(NodeId node, Status& conflict) {
  if (dead(node)) return;
  ++counts_.ticks;
  const ClassId id = class_of(node);
  base::SmallVector<ClassId, 8> kids(children(node).begin(), children(node).end());
  for (ClassId& kid : kids) kid = find(kid);
  const auto data = analysis_->make(*this, op(node), {kids.data(), kids.size()});
  // The node was accepted when it was added. A refusal now is due to what its children became.
  const auto merged = data.ok() ? analysis_->merge(data_[row_of(id)], *data) : data;
  if (!merged.ok()) {
    if (conflict.ok()) conflict = merged.status();
    return;
  }
  if (*merged == data_[row_of(id)]) return;
  changed(id);
  data_[row_of(id)] = *merged;
  to_modify_.push_back(id);
  drain_modify();
}

// find() does not write, so several threads may call it. Paths are therefore shortened here: those
// of the merged-away ids, or all paths if many ids were merged.
void EGraph::shorten_paths() {
  if (merged_away_.size() > classes_.size() / 16) {
    for (std::size_t i = 0; i < classes_.size(); ++i) classes_.find_compress(ClassId(i));
  } else {
    for (const Merged& merged : merged_away_) classes_.find_compress(merged.id);
  }
  merged_away_.clear();
  chained_ = 0;
}

// Starts a new epoch. Drops the oldest part of the record of moved nodes once it is long: a client
// that is that far behind is better served by a full search.
void EGraph::end_epoch() {
  const std::uint64_t dropped = epoch_marks_.front().moved;
  const std::uint64_t end = dropped + moved_.size();
  epoch_marks_.push_back({++epoch_, next_node(), end});
  // moved_ holds the entries from number `dropped` on, and the marks count from the start of the
  // run. Half of the marks go at once, so their erasure is O(1) amortized per epoch. The loop stops
  // at the last mark at the latest, which equals `end`.
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

// Records that a class's lists are out of date. Each class enters the queue once, however often it
// changes, so the lists are sorted once per rebuild.
void EGraph::touch(ClassId id, std::uint32_t what) {
  clean_ = false;
  if (!checkpoints_.empty()) remember_row(id);
  Row& row = this->row(id);
  if (row.touches == 0) touched_.push_back(id);
  row.touches |= what & 0xffU;
}

void EGraph::touch_op(OpId op) {
  if (op.index() >= op_touched_.size()) op_touched_.resize(ops_.op_count());
  if (op_touched_[op.index()]) return;
  op_touched_[op.index()] = true;
  touched_ops_.push_back(op);
}

// Puts the lists of the touched classes and operators in order. Removal from an operator list keeps
// the order, so these lists need no sort.
void EGraph::refresh_lists() {
  // link() has passed the bits of a merged-away class on to its root.
  for (std::size_t i = 0; i < touched_.size(); ++i) {
    prefetch_refresh(i);
    const ClassId id = touched_[i];
    if (!is_canonical(id)) continue;
    const std::uint32_t what = row(id).touches;
    row(id).touches = 0;
    if (!checkpoints_.empty()) remember_lists(id);
    if ((what & kNodesStale) != 0) refresh_nodes(id);
    // Walking a chain waits for memory at each step. It is filtered only once three quarters of it
    // are dead.
    constexpr std::uint32_t kFew = 8;
    const Row& row = this->row(id);
    if (row.dead_links > kFew && row.dead_links > row.links / 4 * 3) drop_dead_links(id);
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

// Prefetches for the classes some places ahead in touched_: their union-find entries, rows, lists,
// nodes.
void EGraph::prefetch_refresh(std::size_t touched) const {
  constexpr std::size_t kFarthest = 32;
  constexpr std::size_t kFar = 24;
  constexpr std::size_t kMiddle = 16;
  constexpr std::size_t kNear = 8;
  constexpr std::size_t kMaxNodes = 8;
  const auto row = [&](std::size_t ahead) -> const Row& {
    return this->row(find(touched_[touched + ahead]));
  };
  if (touched + kFarthest >= touched_.size()) return;
  classes_.prefetch(touched_[touched + kFarthest]);
  __builtin_prefetch(&row(kFar));
  lists_.prefetch(row(kMiddle).nodes);
  const Row& next = row(kNear);
  const auto fetch_nodes = [&](const List& list) {
    const auto items = lists_.items(list);
    for (const NodeId node : items.first(std::min(kMaxNodes, items.size()))) {
      __builtin_prefetch(&words_[node.index()]);
    }
  };
  fetch_nodes(next.nodes);
}

// Filters the list to visible nodes and sorts it by (operator, id). It also recomputes the mask and
// writes the canonical class into the records (invariants 2 and 5). Between two rebuilds a mask
// only gains bits, so it may name operators of hidden or dead nodes until then.
void EGraph::refresh_nodes(ClassId id) {
  constexpr std::size_t kFew = 16;
  List& list = row(id).nodes;
  const auto items = lists_.items(list);
  std::uint64_t mask = 0;
  // The sort key is (operator, id) in one word. Short lists use insertion sort while they are read.
  std::array<std::uint64_t, kFew> few;
  if (items.size() > kFew) scratch_.resize(items.size(), 0);
  std::uint64_t* const keys = items.size() > kFew ? scratch_.data() : few.data();
  std::uint32_t count = 0;
  for (const NodeId node : items) {
    const std::uint32_t head = words_[node.index()].index();
    if ((head & kFlags) != 0) continue;
    // Tests before it writes: most records are correct, and an unchanged cache line needs no
    // write-back.
    if (words_[node.index() + 1] != id) words_[node.index() + 1] = id;
    mask |= mask_bit(ops_.base_of(OpId(head & kOpMask)));
    std::uint32_t at = count++;
    const std::uint64_t key = (std::uint64_t{head} << 32) | node.index();
    if (items.size() <= kFew) {
      for (; at > 0 && keys[at - 1] > key; --at) keys[at] = keys[at - 1];
    }
    keys[at] = key;
  }
  if (items.size() > kFew) std::sort(keys, keys + count);
  std::transform(keys, keys + count, items.begin(),
                 [](std::uint64_t key) { return NodeId(static_cast<std::uint32_t>(key)); });
  row(id).mask = mask;
  lists_.shrink(list, count);
}

// Relinks the live slots of a chain in their order. A link word is written only if it changes, to
// keep the undo log short.
void EGraph::drop_dead_links(ClassId id) {
  Row& row = this->row(id);
  Slot slot = std::exchange(row.parents, 0);
  row.links = row.dead_links = 0;
  NodeId last;           // the last live node, and
  std::size_t link = 0;  // the position of its link word
  const auto follow = [&](Slot next) {
    if (!last.valid()) {
      row.parents = next;
    } else if (words_[link].index() != next) {
      if (!checkpoints_.empty()) remember_node(last);
      words_[link] = ClassId(next);
    }
  };
  while (slot != 0) {
    const NodeId node = node_of(slot);
    const Slot next = next_slot(slot, node);
    if (!dead(node)) {
      follow(slot);
      last = node;
      link = slot + ops_.arity(op(node));
      ++row.links;
    }
    slot = next;
  }
  follow(0);
}

// When an eighth of the list arena is free, copies all lists into a new arena in row order.
void EGraph::compact_lists() {
  constexpr std::size_t kSmall = 4096;
  if (lists_.free_words() < kSmall || lists_.free_words() < lists_.words() / 8) return;
  NodeLists moved;
  for (Row& row : rows_) {
    moved.take(row.nodes, lists_);
  }
  lists_ = std::move(moved);
}

// Clears the queues. Those above 64 KiB also return their memory.
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
