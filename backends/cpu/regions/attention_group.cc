// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/regions/attention_group.h"

#include <algorithm>
#include <string_view>

#include "backends/cpu/plan/epilogue.h"

namespace egret::backends::cpu {
namespace {

bool is_operator(const ir::Node& node, std::string_view name) {
  return node.kind == ir::NodeKind::kOperator && node.op->name() == name;
}

bool scores_are_large(const ir::Node& scores) {
  if (scores.type.dtype != ir::DType::kF32 || !scores.type.is_concrete()) return false;
  const ir::Shape shape = scores.type.shape();
  const std::size_t rank = shape.size();
  return rank >= 2 && scores.type.elements() > 0 && shape[rank - 2] >= kLeastScores &&
         shape[rank - 1] >= kLeastScores;
}

}  // namespace

ir::Shape batch_of(const ir::TensorType& type) {
  ir::Shape shape = type.shape();
  shape.resize(shape.size() - 2);
  return shape;
}

// Follows the only readers from the product of scores: pointwise operators of the same type, a
// softmax over the last axis, and a product with the softmax on the left. The group is empty if one
// link is missing or a value on the way has a second reader.
Group attention_group(const ir::Graph& graph, ir::NodeId anchor,
                      const std::function<ir::NodeId(ir::NodeId)>& only_reader) {
  const ir::Node& scores = graph.node(anchor);
  if (!is_operator(scores, "matmul") || !scores_are_large(scores)) return {};
  Group group{{anchor}};
  ir::NodeId next = only_reader(anchor);
  while (next.valid() && !is_operator(graph.node(next), "softmax")) {
    if (graph.node(next).type != scores.type || group.nodes.size() >= kMostAttentionNodes ||
        !epilogue_takes(graph, group, next))
      return {};
    group.nodes.push_back(next);
    next = only_reader(next);
  }
  if (!next.valid() ||
      graph.node(next).attrs.integer("axis") + 1 != static_cast<std::int64_t>(scores.type.rank()))
    return {};
  const ir::NodeId product = only_reader(next);
  if (!product.valid() || !is_operator(graph.node(product), "matmul")) return {};
  const ir::Node& last = graph.node(product);
  // The softmax is the left operand, and does not broadcast over further batch axes.
  if (last.inputs[0] != next || last.inputs[1] == next || last.type.elements() == 0 ||
      batch_of(last.type) != batch_of(scores.type))
    return {};
  group.nodes.push_back(next);
  group.nodes.push_back(product);
  return group;
}

// A division may ask for any nodes, so that the last two do not tell what is before them.
bool is_attention(const ir::Graph& graph, const Group& group) {
  if (group.nodes.size() < 3 || !is_operator(graph.node(group.root()), "matmul")) return false;
  const auto reader_inside = [&](ir::NodeId id) {
    ir::NodeId only;
    for (const ir::NodeId reader : group.nodes) {
      if (std::ranges::count(graph.node(reader).inputs, id) == 0) continue;
      if (only.valid()) return ir::NodeId();
      only = reader;
    }
    return only;
  };
  return attention_group(graph, group.anchor(), reader_inside).nodes == group.nodes;
}

// The first product with its pointwise operators, the softmax, and the second product.
std::vector<Group> split_attention(const Group& group) {
  return {{{group.nodes.begin(), group.nodes.end() - 2}},
          {{*(group.nodes.end() - 2)}},
          {{group.root()}}};
}

}  // namespace egret::backends::cpu
