// SPDX-License-Identifier: Apache-2.0
#include "driver/engine/engine_kernels.h"

#include <algorithm>
#include <set>

#include "backends/division.h"

namespace egret::driver {
namespace {

using Kernel = backends::PlanReport::Kernel;

// A kernel of each node, by node; -1: none.
constexpr int kNone = -1;

// The operators without a kernel of their own that a node's kernel computes, and the node.
std::vector<ir::NodeId> computed_with(const ir::Graph& graph, ir::NodeId root,
                                      const std::vector<int>& kernel_of,
                                      const std::vector<bool>& once) {
  std::set<ir::NodeId> found;
  std::vector<ir::NodeId> stack{root};
  while (!stack.empty()) {
    const ir::NodeId id = stack.back();
    stack.pop_back();
    if (!found.insert(id).second) continue;
    for (const ir::NodeId input : graph.node(id).inputs) {
      const bool is_operator = graph.node(input).kind == ir::NodeKind::kOperator;
      if (is_operator && !once[input.index()] && kernel_of[input.index()] == kNone)
        stack.push_back(input);
    }
  }
  return {found.begin(), found.end()};
}

}  // namespace

base::Result<std::vector<EngineKernel>> kernels_in(const base::Json& answer) {
  const auto wrong = [] { return base::unavailable("an engine's kernels are not as documented"); };
  const base::Json* list = answer.find("kernels");
  if (list == nullptr || !list->is_array()) return wrong();
  std::vector<EngineKernel> kernels;
  for (const base::Json& one : list->items()) {
    const base::Json* name = one.find("name");
    const base::Json* type = one.find("type");
    const base::Json* values = one.find("values");
    const base::Json* seconds = one.find("seconds");
    if (name == nullptr || seconds == nullptr || values == nullptr || !values->is_array())
      return wrong();
    EngineKernel& kernel = kernels.emplace_back();
    kernel.name = name->scalar_text();
    if (type != nullptr) kernel.type = type->scalar_text();
    for (const base::Json& value : values->items()) kernel.values.push_back(value.scalar_text());
    EGRET_ASSIGN_OR_RETURN(kernel.seconds, seconds->as_real());
  }
  return kernels;
}

std::vector<Kernel> kernels_of(const ir::Graph& graph,
                               const std::map<std::string, ir::NodeId>& makers,
                               std::span<const EngineKernel> kernels) {
  std::vector<Kernel> result;
  std::vector<ir::NodeId> roots;
  std::vector<int> kernel_of(graph.size(), kNone);
  for (const EngineKernel& one : kernels) {
    ir::NodeId root;
    for (const std::string& value : one.values) {
      if (const auto maker = makers.find(value); maker != makers.end()) root = maker->second;
    }
    if (root.valid()) kernel_of[root.index()] = static_cast<int>(result.size());
    roots.push_back(root);
    result.push_back({.name = one.type.empty() ? one.name : one.type,
                      .implementation = one.name,
                      .layout = "",
                      .nodes = {},
                      .ids = {},
                      .signature = "",
                      .seconds = one.seconds});
  }
  const std::vector<bool> once = backends::computed_once(graph);
  std::vector<bool> placed(graph.size(), false);
  for (std::size_t k = 0; k < result.size(); ++k) {
    if (!roots[k].valid()) continue;
    result[k].ids = computed_with(graph, roots[k], kernel_of, once);
    for (const ir::NodeId id : result[k].ids) placed[id.index()] = true;
  }
  // What no later kernel needs was computed with its operand.
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const ir::Node& node = graph.node(ir::NodeId(i));
    if (node.kind != ir::NodeKind::kOperator || node.inputs.empty() || once[i] || placed[i])
      continue;
    const int kernel = kernel_of[node.inputs[0].index()];
    if (kernel == kNone) continue;
    kernel_of[i] = kernel;
    result[static_cast<std::size_t>(kernel)].ids.push_back(ir::NodeId(i));
  }
  for (Kernel& kernel : result) {
    for (const ir::NodeId id : kernel.ids) kernel.nodes.push_back(backends::node_label(graph, id));
  }
  return result;
}

}  // namespace egret::driver
