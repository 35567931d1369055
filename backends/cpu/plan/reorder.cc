// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/plan/reorder.h"

#include "backends/cpu/plan/copy_step.h"
#include "backends/cpu/plan/onednn.h"
#include "backends/cpu/plan/plan_builder.h"

namespace egret::backends::cpu {

base::Status add_onednn_reorder(PlanBuilder& builder, const Operand& source, const Operand& target,
                                float factor) {
  const dnnl::memory::desc from = descriptor_of(source);
  const dnnl::memory::desc to = descriptor_of(target);
  dnnl::primitive_attr attr;
  if (factor != 1) attr.set_output_scales(0, {factor});
  const dnnl::reorder::primitive_desc pd(onednn_engine(), from, onednn_engine(), to, attr);
  const std::string implementation = pd.impl_info_str();
  EGRET_RETURN_IF_ERROR(reject_reference(implementation));
  if (implementation.find("any") != std::string::npos)
    return base::unsupported("oneDNN has no optimized reorder");
  auto step = std::make_unique<PrimitiveStep>(
      dnnl::reorder(pd), std::vector<PrimitiveStep::Argument>{{DNNL_ARG_FROM, from, source},
                                                              {DNNL_ARG_TO, to, target}});
  const Operand touched[] = {source, target};
  builder.add(std::move(step), touched, "reorder", implementation);
  return base::ok();
}

// oneDNN's reorder where it has an optimized one between two dense f32 layouts, else Egret's own
// copy.
void add_reorder(PlanBuilder& builder, const Operand& source, const Operand& target) {
  const ir::Shape shape = source.shape();
  if (source.type.dtype == ir::DType::kF32 && shape.size() >= 3 && shape.size() <= 5 &&
      is_dense(source.layout, shape) && is_dense(target.layout, shape)) {
    const base::Status added = guarded([&] { return add_onednn_reorder(builder, source, target); });
    if (added.ok()) return;
  }
  const Operand touched[] = {source, target};
  builder.add(make_copy_step(source, target, builder.threads()), touched, "reorder", "own:copy");
}

}  // namespace egret::backends::cpu
