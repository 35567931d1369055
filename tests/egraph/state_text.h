// SPDX-License-Identifier: Apache-2.0
// All that can be seen of a clean e-graph, as text: two that print the same go on the same way.
#pragma once

#include <string>

#include "egraph/core/egraph.h"

namespace egret::egraph {

// What is recorded for explanations.
inline std::string proofs_text(const ProofLog& log) {
  std::string out;
  for (const WordLog* words : {&log.term_words(), &log.merge_words()}) {
    for (std::size_t i = 0; i < words->size(); ++i)
      out.append(" ").append(std::to_string((*words)[i]));
    out += '\n';
  }
  return out.append(std::to_string(log.term_count()) + " " + std::to_string(log.id_count()));
}

inline std::string state_text(const EGraph& egraph) {
  std::string out;
  const auto add = [&out](auto n) { out.append(" ").append(std::to_string(n)); };
  const auto add_list = [&](char name, std::span<const NodeId> list) {
    out.append(" ").push_back(name);
    for (const NodeId node : list) add(node.index());
  };
  for (std::size_t i = 0; i < egraph.id_count(); ++i) {
    const ClassId id(i);
    add(i);
    out += '=';
    add(egraph.find(id).index());
    if (egraph.is_canonical(id)) {
      out += " epoch";
      add(egraph.epoch(id));
      add(egraph.mask(id));
      add(egraph.data(id));
      add_list('n', egraph.nodes(id));
      out.append(" p");
      for (const NodeId parent : egraph.parents(id)) add(parent.index());
    }
    out += '\n';
  }
  for (NodeId node(0); node != egraph.next_node(); node = egraph.node_after(node)) {
    add(node.index());
    out.append(egraph.visible(node) ? ": " : "- ").append(egraph.ops().text(egraph.op(node)));
    add(egraph.class_of(node).index());
    for (const ClassId child : egraph.children(node)) add(child.index());
    out += '\n';
  }
  for (std::size_t op = 0; op < egraph.ops().op_count(); ++op) {
    add_list('o', egraph.nodes_with(OpId(op)));
    out += '\n';
  }
  for (Epoch epoch = 0; epoch <= egraph.epoch(); ++epoch) {
    const auto changes = egraph.nodes_since(epoch);
    if (!changes) continue;
    add(epoch);
    add(changes->fresh.index());
    add_list('m', changes->moved);
    out += '\n';
  }
  add(egraph.epoch());
  add(egraph.node_count());
  add(egraph.class_count());
  add(egraph.ticks());
  add(egraph.keys_inserted());
  add(egraph.merge_count());
  if (egraph.proofs() != nullptr) out.append(" proofs\n").append(proofs_text(*egraph.proofs()));
  return out;
}

}  // namespace egret::egraph
