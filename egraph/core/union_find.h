// SPDX-License-Identifier: Apache-2.0
// Disjoint sets of class ids (Tarjan 1975), with path halving. One word per id: the parent, or, for
// a root, the row number of its class.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "egraph/core/flat_array.h"
#include "egraph/core/ids.h"

namespace egret::egraph {

class UnionFind {
 public:
  // The old words, in the order in which they were changed.
  struct Change {
    ClassId id;
    std::uint32_t word;
  };
  using Log = FlatArray<Change>;
  static constexpr std::uint32_t kMaxIds = 1U << 31;  // and rows

  // Makes an id that is a set of its own.
  ClassId make(std::uint32_t row) {
    words_.push_back(row | kRoot);
    return ClassId(words_.size() - 1);
  }
  // Makes an id in the set of this root.
  ClassId make_in(ClassId root) {
    words_.push_back(root.index());
    return ClassId(words_.size() - 1);
  }
  // Removes the ids from `size` on. No other id may be linked to them.
  void truncate(std::size_t size) { words_.truncate(size); }

  bool is_root(ClassId id) const { return (words_[id.index()] & kRoot) != 0; }
  ClassId find(ClassId id) const {
    EGRET_DCHECK(id.index() < size(), "an id of another e-graph, or one that pop() took back");
    std::uint32_t word = words_[id.index()];
    while ((word & kRoot) == 0) {
      id = ClassId(word);
      word = words_[word];
    }
    return id;
  }
  // As find(), with path halving.
  ClassId find_compress(ClassId id) {
    EGRET_DCHECK(id.index() < size(), "an id of another e-graph, or one that pop() took back");
    std::uint32_t parent = words_[id.index()];
    while ((parent & kRoot) == 0) {
      const std::uint32_t grandparent = words_[parent];
      if ((grandparent & kRoot) != 0) return ClassId(parent);
      set(id, grandparent);
      id = ClassId(grandparent);
      parent = words_[grandparent];
    }
    return id;
  }
  std::uint32_t row(ClassId root) const {
    EGRET_DCHECK(is_root(root), "the id was merged away");
    return words_[root.index()] & ~kRoot;
  }
  void set_row(ClassId root, std::uint32_t row) { words_[root.index()] = row | kRoot; }
  // Links the set of root `child` under root `root`. The row of `child` becomes free.
  void link(ClassId root, ClassId child) { set(child, root.index()); }

  // Starts logging changes to `log`; nullptr stops it.
  void set_log(Log* log) { log_ = log; }
  // Reverts all changes in the log and removes the ids from `size` on.
  void undo(const Log& log, std::size_t size) {
    for (std::size_t i = log.size(); i-- > 0;) words_[log[i].id.index()] = log[i].word;
    words_.truncate(size);
  }

  std::size_t size() const { return words_.size(); }
  std::size_t bytes() const { return words_.bytes(); }
  void shrink_to_fit() { words_.shrink_to_fit(); }
  void prefetch(ClassId id) const { __builtin_prefetch(&words_[id.index()]); }

 private:
  static constexpr std::uint32_t kRoot = 1U << 31;

  void set(ClassId id, std::uint32_t word) {
    if (log_ != nullptr) log_->push_back({id, words_[id.index()]});
    words_[id.index()] = word;
  }

  FlatArray<std::uint32_t> words_;
  Log* log_ = nullptr;
};

}  // namespace egret::egraph
