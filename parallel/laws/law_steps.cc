// SPDX-License-Identifier: Apache-2.0
#include "parallel/laws/law_steps.h"

#include <algorithm>

#include "base/stop.h"

namespace egret::parallel {

std::string statement_of(const LawStep& step) {
  std::string text = step.op->name() + to_string(step.attrs) + "(";
  for (const ir::TensorType& type : step.types)
    text += (text.ends_with('(') ? "" : ", ") + ir::to_string(type);
  return text + ") on " + std::to_string(step.devices) + ": " + to_string(step.law) + ", " +
         to_string(step.law.attrs);
}

std::string name_of(const LawStep& step) { return step.op->name() + " " + to_string(step.law); }

base::Result<std::vector<LawStep>> law_steps(const ir::Operator& op, const ir::Attrs& attrs,
                                             std::span<const ir::TensorType> types,
                                             std::span<const Placement> inputs,
                                             const Placement& output, const Mesh& mesh,
                                             LawCache& laws) {
  if (!std::ranges::all_of(inputs, cuts_in_order) || !cuts_in_order(output))
    return base::unsupported("cuts of one dimension are not in the order of the mesh's axes");
  std::vector<LawStep> steps;
  ir::Attrs left = attrs;
  std::vector<ir::TensorType> parts(types.begin(), types.end());
  for (int axis = 0; axis < mesh.axis_count(); ++axis) {
    if (mesh.size(axis) == 1) continue;  // local_type() allows no halo, so all placements are one
    const std::vector<Law>& all = laws.of(op, left, parts, mesh.size(axis));
    const auto law = std::ranges::find_if(all, [&](const Law& one) {
      return one.output == output.along(axis) &&
             std::ranges::equal(one.inputs, inputs, {}, {},
                                [&](const Placement& placement) { return placement.along(axis); });
    });
    if (law == all.end()) {
      if (base::stop_requested()) return base::limit_hit("stopped while laws were derived");
      std::string text;
      for (const Placement& input : inputs)
        text += (text.empty() ? "" : ", ") + to_string(input.along(axis));
      return base::unsupported(op.name() + " has no law " + text + " -> " +
                               to_string(output.along(axis)) + " along the mesh axis '" +
                               mesh.axis(axis).name + "'");
    }
    steps.push_back({&op, left, parts, axis, mesh.size(axis), *law});
    left = law->attrs;
    for (std::size_t i = 0; i < parts.size(); ++i)
      parts[i] = *part_type(parts[i], law->inputs[i], mesh.size(axis));
  }
  return steps;
}

base::Result<ir::Attrs> part_attrs(const ir::Operator& op, const ir::Attrs& attrs,
                                   std::span<const ir::TensorType> types,
                                   std::span<const Placement> inputs, const Placement& output,
                                   const Mesh& mesh) {
  LawCache laws;
  return part_attrs(op, attrs, types, inputs, output, mesh, laws);
}

base::Result<ir::Attrs> part_attrs(const ir::Operator& op, const ir::Attrs& attrs,
                                   std::span<const ir::TensorType> types,
                                   std::span<const Placement> inputs, const Placement& output,
                                   const Mesh& mesh, LawCache& laws) {
  EGRET_ASSIGN_OR_RETURN(const std::vector<LawStep> steps,
                         law_steps(op, attrs, types, inputs, output, mesh, laws));
  return steps.empty() ? attrs : steps.back().law.attrs;
}

}  // namespace egret::parallel
