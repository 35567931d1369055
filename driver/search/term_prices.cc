// SPDX-License-Identifier: Apache-2.0
#include "driver/search/term_prices.h"

#include <limits>

#include "base/hash.h"
#include "driver/prices/node_query.h"
#include "rules/tensors/term_graph.h"

namespace egret::driver {

using egraph::ClassId;

std::size_t TermPrices::KeyHash::operator()(const Key& key) const {
  return base::hash_bytes(std::as_bytes(std::span(key.data(), key.size())));
}

ProgramPrice TermPrices::of(std::span<const ClassId> outputs) {
  // Terms are made after their children, and so have greater ids.
  while (known_.size() < terms_.egraph().id_count()) learn(ClassId(known_.size()));
  // A new mark for each call spares clearing the marks. Shared terms are counted once, so the price
  // is that of the graph as a DAG.
  ++program_;
  ProgramPrice result;
  for (const ClassId output : outputs)
    result.identity = base::hash_combine(result.identity, known_[output.index()].identity);
  stack_.assign(outputs.begin(), outputs.end());
  while (!stack_.empty()) {
    const ClassId id = stack_.back();
    stack_.pop_back();
    Term& term = known_[id.index()];
    if (term.counted == program_) continue;
    term.counted = program_;
    result.seconds += term.seconds;
    const auto children = terms_.egraph().children(rules::node_of(terms_.egraph(), id));
    stack_.insert(stack_.end(), children.begin(), children.end());
  }
  return result;
}

void TermPrices::forget_missing() {
  if (known_.size() > terms_.egraph().id_count()) known_.resize(terms_.egraph().id_count());
}

void TermPrices::learn(ClassId id) {
  const egraph::EGraph& egraph = terms_.egraph();
  const egraph::NodeId node = rules::node_of(egraph, id);
  const auto children = egraph.children(node);
  Term term;
  term.identity = base::mix(egraph.op(node).index());
  for (const ClassId child : children)
    term.identity = base::hash_combine(term.identity, known_[child.index()].identity);
  term.seconds = price(egraph.op(node), children, id);
  known_.push_back(term);
}

// The price depends on the operator and on the facts (types) of operands and result alone, so equal
// keys share one query.
double TermPrices::price(egraph::OpId op, std::span<const ClassId> children, ClassId term) {
  Key key{op.index(), terms_.egraph().data(term)};
  for (const ClassId child : children) key.push_back(terms_.egraph().data(child));
  const auto [found, is_new] = prices_.emplace(std::move(key), 0);
  if (!is_new) return found->second;
  const NodeQuery query(terms_, op, children, term);
  if (query.free()) return 0;
  const auto price = price_(query.query());
  return found->second = price.ok() ? *price : std::numeric_limits<double>::infinity();
}

}  // namespace egret::driver
