// SPDX-License-Identifier: Apache-2.0
// Congruence closure by definition: a list of terms, a union-find, and sweeps over all pairs until
// nothing changes. Slow and plainly correct; what the engine is compared with.
#pragma once

#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "egraph/core/ids.h"

namespace egret::egraph {

class NaiveClosure {
 public:
  using Handle = std::size_t;

  Handle add(OpId op, std::vector<Handle> children) {
    terms_.push_back({op, std::move(children)});
    group_.push_back(terms_.size() - 1);
    close();
    return terms_.size() - 1;
  }
  void merge(Handle a, Handle b) {
    regroup(group_[a], group_[b]);
    close();
  }
  bool same(Handle a, Handle b) const { return group_[a] == group_[b]; }
  std::size_t term_count() const { return terms_.size(); }
  std::size_t class_count() const { return std::set(group_.begin(), group_.end()).size(); }
  // Different operators applied to different classes.
  std::size_t node_count() const {
    std::set<std::pair<OpId, std::vector<Handle>>> nodes;
    for (const Term& term : terms_) nodes.insert({term.op, groups(term)});
    return nodes.size();
  }

 private:
  struct Term {
    OpId op;
    std::vector<Handle> children;
  };

  std::vector<Handle> groups(const Term& term) const {
    std::vector<Handle> result;
    for (const Handle child : term.children) result.push_back(group_[child]);
    return result;
  }
  void regroup(Handle from, Handle to) {
    for (Handle& group : group_) group = group == from ? to : group;
  }
  void close() {
    for (bool changed = true; changed;) {
      changed = false;
      for (Handle a = 0; a < terms_.size(); ++a) {
        for (Handle b = 0; b < a; ++b) {
          if (same(a, b) || terms_[a].op != terms_[b].op) continue;
          if (groups(terms_[a]) != groups(terms_[b])) continue;
          regroup(group_[a], group_[b]);
          changed = true;
        }
      }
    }
  }

  std::vector<Term> terms_;
  std::vector<Handle> group_;
};

}  // namespace egret::egraph
