// SPDX-License-Identifier: Apache-2.0
#include "egraph/proofs/term_table.h"

#include "base/hash.h"

namespace egret::egraph {

std::size_t TermTable::KeyHash::operator()(const Key& key) const {
  return base::hash_bytes(std::as_bytes(std::span(key.data(), key.size())));
}

// Hash-consing: a term's children are ids of known terms, so equality of a whole term is equality
// of one short key. Children are made first and have lower ids.
TermId TermTable::make(OpId op, std::span<const TermId> children) {
  Key key{op.index()};
  for (const TermId child : children) key.push_back(child.index());
  const auto [entry, fresh] = index_.try_emplace(std::move(key), TermId(ops_.size()));
  if (fresh) {
    ops_.push_back(op);
    children_.insert(children_.end(), children.begin(), children.end());
    begins_.push_back(children_.size());
  }
  return entry->second;
}

// Copies the argument list: make() may move the array in which the old children lie.
TermId TermTable::with_child(TermId term, std::size_t i, TermId child) {
  const auto old = children(term);
  base::SmallVector<TermId, 8> changed(old.begin(), old.end());
  changed[i] = child;
  return make(op(term), {changed.data(), changed.size()});
}

std::string TermTable::text(const OpTable& ops, TermId term, std::size_t max) const {
  struct Frame {
    TermId term;
    std::size_t next = 0;
  };
  std::string out;
  std::vector<Frame> stack;
  const auto enter = [&](TermId t) {
    if (!children(t).empty()) out += '(';
    out += ops.text(op(t));
    if (!children(t).empty()) stack.push_back({t});
  };
  enter(term);
  while (!stack.empty()) {
    if (out.size() > max) return out + " ...";
    Frame& top = stack.back();
    if (top.next < children(top.term).size()) {
      out += ' ';
      enter(children(top.term)[top.next++]);
    } else {
      out += ')';
      stack.pop_back();
    }
  }
  return out;
}

}  // namespace egret::egraph
