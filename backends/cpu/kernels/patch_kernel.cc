// SPDX-License-Identifier: Apache-2.0
// A tensor with a box of it replaced: copy the whole, then the box.
#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/plan/copy_step.h"

namespace egret::backends::cpu {

base::Status make_patch_kernel(PlanBuilder& builder, const Group& group) {
  const ir::Node& node = builder.node(group.root());
  if (node.type.elements() == 0 || builder.node(node.inputs[1]).type.elements() == 0)
    return base::unsupported("an empty tensor");
  const Operand whole = builder.in_row_major(node.inputs[0]);
  const Operand patch = builder.in_row_major(node.inputs[1]);
  const Operand output = builder.output(group.root(), row_major(node.type.shape()));
  const Operand first[] = {whole, output};
  builder.add(make_copy_step(whole, output, builder.threads()), first, "patch", "own:copy");
  const Operand box =
      box_of(output, builder.node(node.inputs[1]).type, node.attrs.integers("start"));
  const Operand second[] = {patch, box};
  builder.add(make_copy_step(patch, box, builder.threads()), second, "patch", "own:copy");
  return base::ok();
}

}  // namespace egret::backends::cpu
