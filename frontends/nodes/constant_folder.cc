// SPDX-License-Identifier: Apache-2.0
#include "frontends/nodes/constant_folder.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "ir/evaluate/interpreter.h"
#include "ir/graph/constant_nodes.h"

namespace egret::frontends {
namespace {

constexpr std::size_t kMaxNodes = 4096;
constexpr std::int64_t kWorkPerElement = 256;

// An upper bound of what a node costs, without knowing its operator: an element of the output reads
// every element of the inputs at most. Elementwise operators are far below it, but only values that
// are small (shapes) or cheap in any case are folded.
bool is_affordable(const ir::Graph& graph, const ir::Node& node, std::int64_t max_elements) {
  if (!node.type.is_concrete()) return false;
  const auto out = ir::element_count(node.type.shape());
  if (!out || *out > max_elements) return false;
  std::int64_t read = 1;
  for (const ir::NodeId input : node.inputs) {
    const ir::TensorType& type = graph.node(input).type;
    if (!type.is_concrete()) return false;  // a range up to an open size
    read = std::max(read, type.elements());
  }
  // What has one input reads each of its elements a few times at most (a reduction once).
  const std::int64_t work = max_elements * kWorkPerElement * (node.inputs.size() <= 1 ? 64 : 1);
  return *out <= work / read;
}

}  // namespace

// A search from `id` towards the constants. It stops at values that were computed before, so that a
// chain of folded values costs one node a step. The result is empty if a node is too expensive or
// there are too many.
std::vector<ir::NodeId> ConstantFolder::needed(ir::NodeId id) const {
  std::set<ir::NodeId> found{id};
  std::vector<ir::NodeId> open{id};
  while (!open.empty()) {
    const ir::NodeId at = open.back();
    open.pop_back();
    if (computed_.contains(at)) continue;
    const ir::Node& node = graph_.node(at);
    if (node.kind == ir::NodeKind::kConstant) continue;
    if (!is_affordable(graph_, node, max_elements_) || found.size() > kMaxNodes) return {};
    for (const ir::NodeId input : node.inputs) {
      if (found.insert(input).second) open.push_back(input);
    }
  }
  return {found.begin(), found.end()};  // ids are a topological order
}

bool ConstantFolder::is_constant(ir::NodeId id) {
  ir::extend_constant_nodes(graph_, constant_);
  return constant_[id.index()];
}

// Copies the needed nodes into a graph of its own, with the computed values as constants, and
// interprets it. The result is kept only for `id`.
std::optional<ir::Tensor> ConstantFolder::value(ir::NodeId id) {
  if (graph_.node(id).kind == ir::NodeKind::kConstant) return graph_.node(id).data;
  if (const auto known = computed_.find(id); known != computed_.end()) return known->second;
  if (!is_constant(id)) return std::nullopt;

  ir::Graph part;
  std::map<ir::NodeId, ir::NodeId> moved;
  for (const ir::NodeId at : needed(id)) {
    const auto known = computed_.find(at);
    ir::Node node = graph_.node(at);
    if (known != computed_.end()) {
      node = {.kind = ir::NodeKind::kConstant, .type = known->second.type(), .data = known->second};
    }
    for (ir::NodeId& input : node.inputs) input = moved.at(input);
    moved.emplace(at, part.append(std::move(node)));
  }
  if (part.size() == 0) return std::nullopt;
  part.add_output("value", moved.at(id));
  auto result = ir::interpret(part, {}, {.precision = ir::Precision::kF32});
  if (!result.ok()) return std::nullopt;
  return computed_.emplace(id, std::move(result->front())).first->second;
}

}  // namespace egret::frontends
