// SPDX-License-Identifier: Apache-2.0
// Transposed convolution by oneDNN's deconvolution.
#include <vector>

#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/plan/layout_forms.h"
#include "backends/cpu/plan/onednn.h"

namespace egret::backends::cpu {
namespace {

using dnnl::memory;
using Primitive = dnnl::deconvolution_forward;

// Of what it reads and stores; oneDNN's choice of weights.
struct Descriptors {
  memory::desc source, target;
};

base::Result<Primitive::primitive_desc> describe(const ir::Node& node, const ir::Shape& weights,
                                                 const Descriptors& values) {
  const ir::Integers& strides = node.attrs.integers("strides");
  const ir::Integers& pads = node.attrs.integers("pads");
  const auto axes = static_cast<std::ptrdiff_t>(strides.size());
  memory::dims dilations;
  for (const std::int64_t d : node.attrs.integers("dilations")) dilations.push_back(d - 1);
  const memory::dims before(pads.begin(), pads.begin() + axes);
  memory::dims after(pads.begin() + axes, pads.end());
  const ir::Integers& extra = node.attrs.integers("output_padding");
  // Output padding appends rows to the result: less of it is cut off at the end.
  for (std::size_t i = 0; i < after.size(); ++i) after[i] -= extra[i];
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const Primitive::desc desc(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::deconvolution_direct, values.source,
      any_layout(weights), values.target, memory::dims(strides.begin(), strides.end()), dilations,
      before, after);
  const Primitive::primitive_desc pd(desc, attr, onednn_engine());
  EGRET_RETURN_IF_ERROR(reject_reference(pd.impl_info_str()));
  return pd;
}

// Those that are asked for, then those that the implementation likes, then row-major.
std::vector<Descriptors> candidates(const PlanBuilder& builder, const Group& group,
                                    const ir::Shape& source, const ir::Shape& target) {
  std::vector<Descriptors> list;
  if (group.layouts && source.size() > 3) {
    list.push_back({descriptor(source, layout_in(group.layouts->reads, source)),
                    descriptor(target, layout_in(group.layouts->writes, target))});
  }
  if (builder.options().blocked) list.push_back({any_layout(source), any_layout(target)});
  list.push_back({descriptor(source, row_major(source)), descriptor(target, row_major(target))});
  return list;
}

}  // namespace

base::Status make_conv_transpose_kernel(PlanBuilder& builder, const Group& group) {
  const ir::Node& node = builder.node(group.root());
  if (node.type.dtype != ir::DType::kF32 || node.type.rank() < 3 || node.type.rank() > 5 ||
      node.type.elements() == 0)
    return base::unsupported("transposed convolution of this type");
  const ir::Shape source = builder.node(node.inputs[0]).type.shape();
  const ir::Shape given = builder.node(node.inputs[1]).type.shape();
  const std::int64_t group_count = node.attrs.integer("group");
  // Ours is [C, O/G, ..]; oneDNN's [G, O/G, C/G, ..], which is the same memory seen otherwise.
  ir::Shape weights = given;
  Layout seen = row_major(given);
  std::swap(weights[0], weights[1]);
  std::swap(seen.strides[0], seen.strides[1]);
  if (group_count > 1) {
    weights[1] = given[0] / group_count;
    weights.insert(weights.begin(), group_count);
    seen.strides.insert(seen.strides.begin(), weights[2] * row_major(given).strides[0]);
  }
  Primitive::primitive_desc pd;
  base::Status described = base::unsupported("no implementation");
  for (const Descriptors& values : candidates(builder, group, source, node.type.shape())) {
    described = guarded([&]() -> base::Status {
      EGRET_ASSIGN_OR_RETURN(pd, describe(node, weights, values));
      return base::ok();
    });
    if (described.ok()) break;
  }
  EGRET_RETURN_IF_ERROR(described);
  EGRET_ASSIGN_OR_RETURN(const Layout source_layout, layout_of(pd.src_desc()));
  EGRET_ASSIGN_OR_RETURN(const Layout target_layout, layout_of(pd.dst_desc()));
  const Operand x = builder.in_layout(node.inputs[0], source_layout);
  EGRET_ASSIGN_OR_RETURN(const Operand w,
                         weights_operand(builder, descriptor(weights, seen),
                                         builder.in_row_major(node.inputs[1]), pd.weights_desc()));
  const Operand y = builder.output(group.root(), target_layout);
  std::vector<PrimitiveStep::Argument> arguments{{DNNL_ARG_SRC, pd.src_desc(), x},
                                                 {DNNL_ARG_WEIGHTS, pd.weights_desc(), w}};
  const auto scratch = static_cast<std::int64_t>(pd.scratchpad_desc().get_size());
  if (scratch > 0)
    arguments.push_back({DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), builder.bytes(scratch)});
  arguments.push_back({DNNL_ARG_DST, pd.dst_desc(), y});
  auto step = std::make_unique<PrimitiveStep>(Primitive(pd), std::move(arguments));
  const std::vector<Operand> touched = step->operands();
  builder.add(std::move(step), touched, "conv_transpose", pd.impl_info_str());
  return base::ok();
}

}  // namespace egret::backends::cpu
