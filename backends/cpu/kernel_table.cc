// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernel_table.h"

namespace egret::backends::cpu {

#define EGRET_CPU_KERNEL(op, family, epilogue) \
  base::Status make_##family##_kernel(PlanBuilder& builder, const Group& group);
#include "backends/cpu/kernels.def"
#undef EGRET_CPU_KERNEL

const KernelRow* find_kernel(std::string_view op) {
  static constexpr KernelRow kRows[] = {
#define EGRET_CPU_KERNEL(op, family, epilogue) {#op, make_##family##_kernel, Epilogue::epilogue},
#include "backends/cpu/kernels.def"
#undef EGRET_CPU_KERNEL
  };
  for (const KernelRow& row : kRows) {
    if (row.op == op) return &row;
  }
  return nullptr;
}

}  // namespace egret::backends::cpu
