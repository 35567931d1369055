// SPDX-License-Identifier: Apache-2.0
// Disjoint sets of class ids (Tarjan 1975), one word per id, path halving.
#pragma once

#include <cstddef>
#include <vector>

#include "egraph/ids.h"

namespace egret::egraph {

class UnionFind {
 public:
  ClassId make() {
    const ClassId id(parent_.size());
    parent_.push_back(id);
    return id;
  }
  // Undoes the last make(); that id must still be a set of its own.
  void unmake() { parent_.pop_back(); }

  bool is_root(ClassId id) const { return parent_[id.index()] == id; }
  ClassId find(ClassId id) const {
    while (parent_[id.index()] != id) id = parent_[id.index()];
    return id;
  }
  // find() that shortens the path it walks.
  ClassId find_compress(ClassId id) {
    while (parent_[id.index()] != id) {
      ClassId& parent = parent_[id.index()];
      parent = parent_[parent.index()];
      id = parent;
    }
    return id;
  }
  // Puts the set of root `child` under root `root`.
  void link(ClassId root, ClassId child) { parent_[child.index()] = root; }

  std::size_t size() const { return parent_.size(); }
  std::size_t bytes() const { return parent_.capacity() * sizeof(ClassId); }

 private:
  std::vector<ClassId> parent_;
};

}  // namespace egret::egraph
