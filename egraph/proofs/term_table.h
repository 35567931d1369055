// SPDX-License-Identifier: Apache-2.0
// Ground terms as a hash-consed directed acyclic graph: equal terms have equal ids. Children have
// smaller ids than their parents. make() is O(arity) expected.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/small_vector.h"
#include "egraph/core/op_table.h"

namespace egret::egraph {

using TermId = base::Id<struct TermIdTag>;

class TermTable {
 public:
  TermId make(OpId op, std::span<const TermId> children);

  OpId op(TermId term) const { return ops_[term.index()]; }
  std::span<const TermId> children(TermId term) const {
    const std::size_t begin = begins_[term.index()];
    return std::span(children_).subspan(begin, begins_[term.index() + 1] - begin);
  }
  std::size_t size() const { return ops_.size(); }

  // The term with its i-th child replaced.
  TermId with_child(TermId term, std::size_t i, TermId child);

  // "(+ a (* b 2))", cut with "..." after about `max` characters: a term's text may be
  // exponentially longer than its graph.
  std::string text(const OpTable& ops, TermId term, std::size_t max = 2000) const;

 private:
  using Key = base::SmallVector<std::uint32_t, 6>;
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };

  std::vector<OpId> ops_;
  std::vector<std::size_t> begins_{0};
  std::vector<TermId> children_;
  boost::unordered_flat_map<Key, TermId, KeyHash> index_;
};

}  // namespace egret::egraph
