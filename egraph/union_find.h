// SPDX-License-Identifier: Apache-2.0
// Disjoint sets of class ids (Tarjan 1975), one word per id, path halving.
#pragma once

#include <cstddef>

#include "base/check.h"
#include "egraph/flat_array.h"
#include "egraph/ids.h"

namespace egret::egraph {

class UnionFind {
 public:
  // Parents as they were before they were changed, in the order of the changes.
  struct Change {
    ClassId id;
    ClassId parent;
  };
  using Log = FlatArray<Change>;

  ClassId make() {
    const ClassId id(parent_.size());
    parent_.push_back(id);
    return id;
  }
  // Forgets the ids from `size` on, to which no other may be linked.
  void truncate(std::size_t size) { parent_.truncate(size); }

  bool is_root(ClassId id) const { return parent_[id.index()] == id; }
  ClassId find(ClassId id) const {
    EGRET_DCHECK(id.index() < size(), "an id of another e-graph, or one that pop() took back");
    while (parent_[id.index()] != id) id = parent_[id.index()];
    return id;
  }
  // find() that shortens the path it walks.
  ClassId find_compress(ClassId id) {
    EGRET_DCHECK(id.index() < size(), "an id of another e-graph, or one that pop() took back");
    while (true) {
      const ClassId parent = parent_[id.index()];
      const ClassId grandparent = parent_[parent.index()];
      if (grandparent == parent) return parent;
      set(id, grandparent);
      id = grandparent;
    }
  }
  // Puts the set of root `child` under root `root`.
  void link(ClassId root, ClassId child) { set(child, root); }

  // From now on changes are logged, or no longer.
  void set_log(Log* log) { log_ = log; }
  // Takes back all changes in the log, and the ids from `size` on.
  void undo(const Log& log, std::size_t size) {
    for (std::size_t i = log.size(); i-- > 0;) parent_[log[i].id.index()] = log[i].parent;
    parent_.truncate(size);
  }

  std::size_t size() const { return parent_.size(); }
  std::size_t bytes() const { return parent_.bytes(); }
  void prefetch(ClassId id) const { __builtin_prefetch(&parent_[id.index()]); }

 private:
  void set(ClassId id, ClassId parent) {
    if (log_ != nullptr) log_->push_back({id, parent_[id.index()]});
    parent_[id.index()] = parent;
  }

  FlatArray<ClassId> parent_;
  Log* log_ = nullptr;
};

}  // namespace egret::egraph
