// SPDX-License-Identifier: Apache-2.0
// Returns memory. EGraph::compact() slides the records of live nodes down over the records of dead
// ones. shrink_to_fit() releases reserved capacity.
//
// The new position of a word is the number of live words before it. A bitmap with a prefix count
// per 64-bit block answers this in O(1), and is the only extra memory needed. The relative order of
// nodes does not change. Lists therefore stay sorted, and the nodes that are new since an epoch are
// still those after its mark.
#include <bit>
#include <vector>

#include "base/check.h"
#include "egraph/core/egraph.h"

namespace egret::egraph {
namespace {

// A bitmap over the arena's words with rank queries.
class LiveWords {
 public:
  explicit LiveWords(std::size_t words) : blocks_(words / 64 + 1) {}

  void add(std::size_t begin, std::size_t count) {
    for (std::size_t word = begin; word < begin + count; ++word) {
      blocks_[word / 64].bits |= std::uint64_t{1} << (word % 64);
    }
  }
  void count() {
    std::uint32_t before = 0;
    for (Block& block : blocks_) {
      block.before = before;
      before += static_cast<std::uint32_t>(std::popcount(block.bits));
    }
  }
  // The new position of a live word. For a dead word, the new position of the next live word.
  std::uint32_t place(std::size_t word) const {
    const Block& block = blocks_[word / 64];
    const std::uint64_t below = block.bits & ((std::uint64_t{1} << (word % 64)) - 1);
    return block.before + static_cast<std::uint32_t>(std::popcount(below));
  }

 private:
  struct Block {
    std::uint64_t bits = 0;
    std::uint32_t before = 0;
  };
  std::vector<Block> blocks_;
};

}  // namespace

// All ids are renumbered before the records move, because the new position of a node depends on the
// old layout. The parent chains are dropped here and made anew at the end: their links are
// positions, too.
void EGraph::compact() {
  EGRET_CHECK(clean_ && checkpoints_.empty(), "compact() before rebuild() or with a checkpoint");
  LiveWords live(words_.size());
  for (NodeId node(0); node < next_node(); node = node_after(node)) {
    if (!dead(node)) live.add(node.index(), record_size(ops_.arity(op(node))));
  }
  live.count();
  const auto move = [&](NodeId& node) { node = NodeId(live.place(node.index())); };

  // A sparsely filled hash-cons is rebuilt at its fitting size; otherwise only the ids inside it
  // are renumbered.
  // Entries are stored under the hash of their content, which does not change here, so renumbering
  // them in place keeps the table valid.
  const bool roomy = hash_cons_.size() < hash_cons_.max_size() / 2;
  if (!roomy) hash_cons_.renumber(move);
  for (Row& row : rows_) {
    row.parents = 0;
    row.links = row.dead_links = 0;
    for (NodeId& node : lists_.items(row.nodes)) move(node);
  }
  by_op_bytes_ = 0;
  for (FlatArray<NodeId>& list : by_op_) {
    for (NodeId& node : list) move(node);
    list.shrink_to_fit();
    by_op_bytes_ += list.bytes();
  }
  forget_dead_moved();
  for (NodeId& node : moved_) move(node);
  moved_.shrink_to_fit();
  for (EpochMark& mark : epoch_marks_) move(mark.next_node);
  slide_records();
  chain_all_parents();
  if (roomy) grow_hash_cons(hash_cons_.size());
  unlisted_ = next_node();
  counts_.dead_words = 0;
  ++changes_;
}

// Removes dead nodes from the record of moved nodes and adjusts the epoch marks to the new
// positions. The counts in the marks are totals since the start, hence the offset `first`.
void EGraph::forget_dead_moved() {
  const std::uint64_t first = epoch_marks_.front().moved;
  std::size_t kept = 0;
  std::size_t seen = 0;
  for (EpochMark& mark : epoch_marks_) {
    for (; seen < mark.moved - first; ++seen) {
      if (!dead(moved_[seen])) moved_[kept++] = moved_[seen];
    }
    mark.moved = first + kept;
  }
  moved_.truncate(kept);
}

// Copies headers and children. It does not copy the links: chain_all_parents() rebuilds the chains.
// A record only moves down, and never past its old place, so one pass in ascending order overwrites
// nothing that is still to be read.
void EGraph::slide_records() {
  ClassId* to = words_.data();
  for (std::size_t word = 0; word < words_.size();) {
    const NodeId node(word);
    const std::size_t arity = ops_.arity(op(node));
    word += record_size(arity);
    if (dead(node)) continue;
    const ClassId* const from = words_.data() + node.index();
    std::copy(from, from + kHeader + arity, to);
    to += record_size(arity);
  }
  words_.truncate(static_cast<std::size_t>(to - words_.data()));
  words_.shrink_to_fit();
}

// Rebuilds all parent chains from nothing. This is faster than unlinking dead nodes, because it
// reads the arena sequentially.
void EGraph::chain_all_parents() {
  constexpr std::size_t kAhead = 64;  // words
  for (std::size_t word = 0; word < words_.size();) {
    const std::size_t arity = ops_.arity(op(NodeId(word)));
    for (std::size_t slot = word + kHeader; slot < word + kHeader + arity; ++slot) {
      if (slot + kAhead < words_.size()) {
        const ClassId ahead = words_[slot + kAhead];  // it may be no child
        if (ahead.index() < classes_.size()) classes_.prefetch(ahead);
      }
      chain(slot, arity, row(words_[slot]));
    }
    word += record_size(arity);
  }
}

// Moves the last used rows into free row slots, so that the row array can be truncated.
void EGraph::compact_rows() {
  if (free_rows_.empty() || !checkpoints_.empty()) return;
  const std::size_t used = rows_.size() - free_rows_.size();
  const std::uint32_t* free = free_rows_.begin();
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    const ClassId id(i);
    if (!is_canonical(id) || row_of(id) < used) continue;
    // The free rows below `used` are as many as the used rows at or above it, so `free` stays
    // inside the list.
    while (*free >= used) ++free;
    rows_[*free] = row(id);
    if (analysis_ != nullptr) data_[*free] = data_[row_of(id)];
    classes_.set_row(id, *free++);
  }
  rows_.truncate(used);
  data_.truncate(used);
  free_rows_.clear();
}

void EGraph::shrink_to_fit() {
  EGRET_CHECK(clean_ && checkpoints_.empty(), "before rebuild() or with a checkpoint");
  compact_rows();
  const auto shrink = [](auto&... arrays) { (arrays.shrink_to_fit(), ...); };
  shrink(words_, classes_, rows_, free_rows_, data_, moved_, lists_);
  shrink(to_repair_, repairing_, to_reanalyse_, to_modify_, merged_away_, touched_, scratch_);
  by_op_bytes_ = 0;
  for (FlatArray<NodeId>& list : by_op_) {
    list.shrink_to_fit();
    by_op_bytes_ += list.bytes();
  }
}

}  // namespace egret::egraph
