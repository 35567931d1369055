// SPDX-License-Identifier: Apache-2.0
#include "backends/timing/kernel_work.h"

#include <set>

namespace egret::backends {
namespace {

// The values that leave the kernel that computes them.
std::vector<bool> leaving_values(const ir::Graph& graph, const std::vector<int>& kernel_of) {
  std::vector<bool> leaves(graph.size(), false);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    for (const ir::NodeId input : graph.node(ir::NodeId(i)).inputs) {
      if (kernel_of[input.index()] != kernel_of[i]) leaves[input.index()] = true;
    }
  }
  for (const auto& out : graph.outputs()) leaves[out.node.index()] = true;
  return leaves;
}

}  // namespace

// Work by kernel of a plan. Values inside a fused kernel stay in registers or caches, so only
// values that enter or leave it count as memory traffic.
base::Result<std::vector<ir::Work>> work_of_kernels(const ir::Graph& graph,
                                                    const PlanReport& report) {
  std::vector<int> kernel_of(graph.size(), -1);
  for (std::size_t k = 0; k < report.kernels.size(); ++k) {
    for (const ir::NodeId id : report.kernels[k].ids) kernel_of[id.index()] = static_cast<int>(k);
  }
  const std::vector<bool> leaves = leaving_values(graph, kernel_of);
  std::vector<ir::Work> works;
  for (std::size_t k = 0; k < report.kernels.size(); ++k) {
    const PlanReport::Kernel& kernel = report.kernels[k];
    ir::Work work;
    std::set<ir::NodeId> read;
    for (const ir::NodeId id : kernel.ids) {
      const ir::Node& node = graph.node(id);
      if (node.kind != ir::NodeKind::kOperator || kernel_of[id.index()] != static_cast<int>(k))
        continue;
      EGRET_ASSIGN_OR_RETURN(const ir::Work own, ir::work_of(graph, node));
      work.flops += own.flops;
      if (leaves[id.index()]) work.bytes_written += own.bytes_written;
      // A single operator may read part of an input (a gather), which work_of() counts exactly. A
      // fused kernel is charged with each outside input once.
      if (kernel.ids.size() == 1) work.bytes_read = own.bytes_read;
      for (const ir::NodeId input : node.inputs) {
        if (kernel_of[input.index()] != kernel_of[id.index()]) read.insert(input);
      }
    }
    if (kernel.ids.size() > 1) {
      for (const ir::NodeId id : read)
        work.bytes_read += static_cast<double>(graph.node(id).type.bytes());
    }
    works.push_back(work);
  }
  return works;
}

}  // namespace egret::backends
