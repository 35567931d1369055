// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/kernel_table.h"

#include "backends/cpu/loops/pointwise_program.h"

namespace egret::backends::cpu {

#define EGRET_CPU_KERNEL(op, family, epilogue, types) \
  base::Status make_##family##_kernel(PlanBuilder& builder, const Group& group);
#include "backends/cpu/kernels/kernels.def"
#undef EGRET_CPU_KERNEL

const KernelRow* find_kernel(std::string_view op) {
  static constexpr KernelRow kRows[] = {
#define EGRET_CPU_KERNEL(op, family, epilogue, types) \
  {#op, make_##family##_kernel, Epilogue::epilogue, ElementTypes::types},
#include "backends/cpu/kernels/kernels.def"
#undef EGRET_CPU_KERNEL
  };
  for (const KernelRow& row : kRows) {
    if (row.op == op) return &row;
  }
  return nullptr;
}

bool has_kernel(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  const KernelRow* row = find_kernel(node.op->name());
  if (row == nullptr) return is_pointwise(graph, id);
  return row->types == ElementTypes::kAny || node.type.dtype == ir::DType::kF32;
}

}  // namespace egret::backends::cpu
