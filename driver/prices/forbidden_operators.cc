// SPDX-License-Identifier: Apache-2.0
#include "driver/prices/forbidden_operators.h"

#include <algorithm>
#include <limits>

#include "driver/prices/node_query.h"
#include "ir/graph/body.h"
#include "ir/graph/onnx_form.h"

namespace egret::driver {

base::Result<ForbiddenOperators> ForbiddenOperators::named(std::span<const std::string> names) {
  ForbiddenOperators made;
  for (const std::string& name : names) {
    const ir::Operator* op = ir::find_operator(name);
    if (op == nullptr)
      return base::usage_error("--forbid: unknown operator '" + name + "' (see `egret ops`)");
    if (!made.contain(op)) made.operators_.push_back(op);
  }
  return made;
}

bool ForbiddenOperators::contain(const ir::Operator* op) const {
  return std::ranges::find(operators_, op) != operators_.end();
}

// A composite that is written as its body is as forbidden as the operators of the body.
bool ForbiddenOperators::has(const ir::Operator& op, const ir::Attrs& attrs,
                             std::span<const ir::TensorType> inputs,
                             const ir::TensorType& output) const {
  if (contain(&op)) return true;
  if (ir::is_written_whole(op, attrs, inputs, output)) return false;
  const auto body = ir::body_graph(op, attrs, inputs);
  return body.ok() && any_in(*body);
}

bool ForbiddenOperators::any_in(const ir::Graph& graph) const {
  for (std::size_t i = 0; i < graph.size() && !empty(); ++i) {
    const ir::Node& node = graph.node(ir::NodeId(i));
    if (node.kind != ir::NodeKind::kOperator) continue;
    std::vector<ir::TensorType> types;
    for (const ir::NodeId input : node.inputs) types.push_back(graph.node(input).type);
    if (has(*node.op, node.attrs, types, node.type)) return true;
  }
  return false;
}

// An infinite factor takes a node out of every extraction. The e-graph keeps it: a path of rewrites
// may lead through it.
std::vector<double> ForbiddenOperators::factors(const rules::TensorEGraph& tensors,
                                                const egraph::EGraphView& view) const {
  std::vector<double> factors;
  if (empty()) return factors;
  factors.assign(view.node_count(), 1);
  for (egraph::EGraphView::Index node = 0; node < view.node_count(); ++node) {
    if (const ir::Graph* body = tensors.body(view.node_op[node])) {
      if (any_in(*body)) factors[node] = std::numeric_limits<double>::infinity();
      continue;
    }
    const NodeQuery query(tensors, view, node);
    if (query.free()) continue;
    const cost::Query& asked = query.query();
    if (has(*asked.op, *asked.attrs, asked.inputs, *asked.output))
      factors[node] = std::numeric_limits<double>::infinity();
  }
  return factors;
}

std::string ForbiddenOperators::names() const {
  std::string names;
  for (const ir::Operator* op : operators_) names += (names.empty() ? "" : ", ") + op->name();
  return names;
}

}  // namespace egret::driver
