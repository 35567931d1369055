// SPDX-License-Identifier: Apache-2.0
#include "parallel/laws/implementations.h"

namespace egret::parallel {

std::vector<Implementation> Implementations::of(egraph::NodeId node, const Placement& output) {
  const egraph::OpId op = tensors_.egraph().op(node);
  Implementation way;
  way.attrs = tensors_.language().attrs(op);
  for (const egraph::ClassId child : tensors_.egraph().children(node)) {
    way.parts.push_back(tensors_.type(child));
    way.inputs.emplace_back(mesh_.axis_count());
  }
  std::vector<Implementation> found;
  add(tensors_.language().op(op), output, 0, way, found);
  return found;
}

// One law per mesh axis, chosen by recursion over the axes: each law applies to the parts that the
// axes before have left. The number of implementations is the product over the axes.
void Implementations::add(const ir::Operator& op, const Placement& output, int axis,
                          const Implementation& way, std::vector<Implementation>& found) {
  if (axis == mesh_.axis_count()) {
    found.push_back(way);
    return;
  }
  const std::int64_t devices = mesh_.size(axis);
  const AxisPlacement wanted = output.along(axis);
  if (devices == 1) {
    if (wanted.is_copy()) add(op, output, axis + 1, way, found);
    return;
  }
  for (const Law& law : laws(op, way.attrs, way.parts, devices)) {
    if (law.output != wanted) continue;
    Implementation next{law.attrs, way.parts, way.inputs};
    for (std::size_t i = 0; i < law.inputs.size(); ++i) {
      next.parts[i] = *part_type(way.parts[i], law.inputs[i], devices);
      next.inputs[i] = way.inputs[i].with(axis, law.inputs[i]);
    }
    add(op, output, axis + 1, next, found);
  }
}

}  // namespace egret::parallel
