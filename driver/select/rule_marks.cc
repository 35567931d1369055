// SPDX-License-Identifier: Apache-2.0
#include "driver/select/rule_marks.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace egret::driver {

std::vector<ir::NodeId> counterparts(const ir::Graph& from, const ir::Graph& to) {
  std::vector<ir::NodeId> found(to.size());
  std::vector<std::pair<ir::NodeId, ir::NodeId>> pending;
  for (std::size_t i = 0; i < std::min(from.outputs().size(), to.outputs().size()); ++i)
    pending.emplace_back(from.outputs()[i].node, to.outputs()[i].node);
  while (!pending.empty()) {
    const auto [source, target] = pending.back();
    pending.pop_back();
    if (found[target.index()].valid()) continue;
    const ir::Node& a = from.node(source);
    const ir::Node& b = to.node(target);
    if (b.kind != ir::NodeKind::kOperator || a.op != b.op || a.inputs.size() != b.inputs.size())
      continue;
    found[target.index()] = source;
    for (std::size_t k = 0; k < a.inputs.size(); ++k)
      pending.emplace_back(a.inputs[k], b.inputs[k]);
  }
  return found;
}

RuleMarks carried_over(const RuleMarks& marks, const ir::Graph& from, const ir::Graph& to) {
  RuleMarks carried;
  if (marks.empty()) return carried;
  const std::vector<ir::NodeId> sources = counterparts(from, to);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (!sources[i].valid()) continue;
    if (const auto mark = marks.find(sources[i]); mark != marks.end())
      carried[ir::NodeId(i)] = mark->second;
  }
  return carried;
}

}  // namespace egret::driver
