// SPDX-License-Identifier: Apache-2.0
// Local response normalization across channels by oneDNN.
#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/plan/onednn.h"

namespace egret::backends::cpu {
namespace {

using Primitive = dnnl::lrn_forward;

base::Result<Primitive::primitive_desc> describe(const ir::Node& node, const Layout& layout) {
  const dnnl::memory::desc md = descriptor(node.type.shape(), layout);
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const Primitive::desc desc(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::lrn_across_channels, md,
      node.attrs.integer("size"), static_cast<float>(node.attrs.real("alpha")),
      static_cast<float>(node.attrs.real("beta")), static_cast<float>(node.attrs.real("bias")));
  const Primitive::primitive_desc pd(desc, attr, onednn_engine());
  EGRET_RETURN_IF_ERROR(reject_reference(pd.impl_info_str()));
  return pd;
}

}  // namespace

base::Status make_lrn_kernel(PlanBuilder& builder, const Group& group) {
  const ir::Node& node = builder.node(group.root());
  const ir::Shape shape = node.type.shape();
  if (node.type.dtype != ir::DType::kF32 || shape.size() != 4 || node.type.elements() == 0)
    return base::unsupported("normalization of this type");
  if (node.attrs.integer("size") % 2 == 0)
    return base::unsupported("an even size, which oneDNN centers differently");
  // The input's own layout first: it needs no reorder.
  const Layout layouts[] = {builder.home(node.inputs[0]).layout, channel_blocked(shape, 16),
                            channel_blocked(shape, 8), channels_last(shape), row_major(shape)};
  for (const Layout& layout : layouts) {
    if (!is_dense(layout, shape) || is_padded(layout, shape)) continue;
    Primitive::primitive_desc pd;
    const base::Status described = guarded([&]() -> base::Status {
      EGRET_ASSIGN_OR_RETURN(pd, describe(node, layout));
      return base::ok();
    });
    if (!described.ok()) continue;
    std::vector<PrimitiveStep::Argument> arguments{
        {DNNL_ARG_SRC, pd.src_desc(), builder.in_layout(node.inputs[0], layout)}};
    const auto scratch = static_cast<std::int64_t>(pd.scratchpad_desc().get_size());
    if (scratch > 0)
      arguments.push_back({DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), builder.bytes(scratch)});
    arguments.push_back({DNNL_ARG_DST, pd.dst_desc(), builder.output(group.root(), layout)});
    auto step = std::make_unique<PrimitiveStep>(Primitive(pd), std::move(arguments));
    const std::vector<Operand> touched = step->operands();
    builder.add(std::move(step), touched, "lrn", pd.impl_info_str());
    return base::ok();
  }
  return base::unsupported("oneDNN has no optimized implementation");
}

}  // namespace egret::backends::cpu
