// SPDX-License-Identifier: Apache-2.0
// Convolution by oneDNN.
//
// Candidates are tried in order and the first that has an optimized implementation is taken:
// Winograd for 3x3 windows with constant weights (measured with oneDNN 2.6.3 on AVX-512, one
// thread: 0.31-0.83 of the direct kernels' time from 16 channels on; the library itself never
// chooses it), then the direct kernels in the layout that the input already has, in the layout the
// graph prefers, in any layout, and last through GEMM. Blocked and channels-last kernels differ by
// less than 3 % where both exist, so that not reordering decides.
#include <algorithm>

#include "backends/cpu/epilogue.h"
#include "backends/cpu/kernel_table.h"
#include "backends/cpu/onednn.h"

namespace egret::backends::cpu {
namespace {

using dnnl::memory;
using Primitive = dnnl::convolution_forward;

enum class Form : std::uint8_t { kAny, kPlain, kBlocked, kChannelsLast };

struct Candidate {
  dnnl::algorithm algorithm = dnnl::algorithm::convolution_direct;
  Form source = Form::kAny;
  Form target = Form::kAny;
  bool gemm = false;  // whether an implementation by GEMM is good enough
};

std::int64_t preferred_block() {
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  constexpr auto kAvx512 = static_cast<unsigned>(dnnl_cpu_isa_avx512_core);
  return (isa & kAvx512) == kAvx512 ? 16 : 8;
}

struct Geometry {
  ir::Shape source, weights, target;
  std::int64_t group = 1;
  memory::dims strides, dilations, pads_before, pads_after;

  std::int64_t channels() const { return source[1]; }
  std::int64_t filters() const { return target[1]; }
  bool depthwise() const { return group > 1 && group == channels() && group == filters(); }
  bool winograd() const {
    return group == 1 && weights.size() == 4 && weights[2] == 3 && weights[3] == 3 &&
           strides == memory::dims{1, 1} && dilations == memory::dims{0, 0} && channels() >= 16 &&
           filters() >= 16;
  }
  // Whether some output element sees padding alone.
  bool has_empty_windows() const {
    for (std::size_t i = 0; i < strides.size(); ++i) {
      for (std::int64_t o = 0; o < target[i + 2]; ++o) {
        bool inside = false;
        for (std::int64_t k = 0; k < weights[i + 2] && !inside; ++k) {
          const std::int64_t at = o * strides[i] - pads_before[i] + k * (dilations[i] + 1);
          inside = at >= 0 && at < source[i + 2];
        }
        if (!inside) return true;
      }
    }
    return false;
  }
  // oneDNN's weights have the groups as an axis of their own.
  ir::Shape grouped_weights() const {
    if (group == 1) return weights;
    ir::Shape shape{group, weights[0] / group};
    shape.insert(shape.end(), weights.begin() + 1, weights.end());
    return shape;
  }
};

Geometry geometry(const PlanBuilder& builder, ir::NodeId id) {
  const ir::Node& node = builder.node(id);
  Geometry g;
  g.source = builder.node(node.inputs[0]).type.shape();
  g.weights = builder.node(node.inputs[1]).type.shape();
  g.target = node.type.shape();
  g.group = node.attrs.integer("group");
  const ir::Integers& strides = node.attrs.integers("strides");
  const ir::Integers& dilations = node.attrs.integers("dilations");
  const ir::Integers& pads = node.attrs.integers("pads");
  const auto axes = static_cast<std::ptrdiff_t>(strides.size());
  g.strides.assign(strides.begin(), strides.end());
  for (const std::int64_t d : dilations) g.dilations.push_back(d - 1);
  g.pads_before.assign(pads.begin(), pads.begin() + axes);
  g.pads_after.assign(pads.begin() + axes, pads.end());
  return g;
}

memory::desc formed(const ir::Shape& shape, Form form) {
  switch (form) {
    case Form::kPlain: return descriptor(shape, row_major(shape));
    case Form::kBlocked: return descriptor(shape, channel_blocked(shape, preferred_block()));
    case Form::kChannelsLast: return descriptor(shape, channels_last(shape));
    case Form::kAny: break;
  }
  return any_layout(shape);
}

Form form_of(const Operand& operand) {
  const ir::Shape shape = operand.shape();
  if (operand.layout.block > 1) return Form::kBlocked;
  if (is_row_major(operand.layout, shape)) return Form::kPlain;
  if (same_layout(operand.layout, channels_last(shape), shape)) return Form::kChannelsLast;
  return Form::kAny;
}

std::vector<Candidate> candidates(const PlanBuilder& builder, const Geometry& g, ir::NodeId source,
                                  bool constant_weights) {
  std::vector<Candidate> list;
  const std::int64_t block = preferred_block();
  const Form home = form_of(builder.home(source));
  if (!builder.options().blocked) {
    list.push_back({.source = Form::kPlain, .target = Form::kPlain, .gemm = true});
  } else {
    if (g.winograd() && constant_weights && !builder.least_scratch)
      list.push_back({.algorithm = dnnl::algorithm::convolution_winograd});
    // Padding channels to whole blocks is waste; few input channels are read best as they come.
    const bool fits = g.filters() % block == 0 || g.filters() > 8 * block;
    const bool few = g.channels() < block;
    const bool source_fits = g.channels() % block == 0 || g.channels() > 8 * block;
    const Form preferred =
        builder.prefers_channels_last || !fits ? Form::kChannelsLast : Form::kBlocked;
    if (few && home == Form::kPlain && preferred == Form::kBlocked)
      list.push_back({.source = Form::kPlain, .target = Form::kBlocked});
    if (home == Form::kBlocked && fits)
      list.push_back({.source = Form::kBlocked, .target = Form::kBlocked});
    if (home == Form::kChannelsLast)
      list.push_back({.source = Form::kChannelsLast, .target = Form::kChannelsLast});
    if (preferred == Form::kBlocked && source_fits)
      list.push_back({.source = Form::kBlocked, .target = Form::kBlocked});
    list.push_back({.source = Form::kChannelsLast, .target = Form::kChannelsLast});
  }
  list.push_back({});
  list.push_back({.source = Form::kPlain, .target = Form::kPlain, .gemm = true});
  list.push_back({.gemm = true});
  return list;
}

// One convolution being made: tries a candidate, then adds its steps.
class ConvMaker {
 public:
  ConvMaker(PlanBuilder& builder, const Group& group, std::vector<PostOperation> operations)
      : builder_(builder),
        group_(group),
        node_(builder.node(group.anchor())),
        g_(geometry(builder, group.anchor())),
        operations_(std::move(operations)) {
    if (node_.inputs.size() > 2) bias_ = node_.inputs[2];
    take_bias_from_chain();
  }

  base::Status make() {
    std::string reason = "no implementation";
    for (const Candidate& candidate :
         candidates(builder_, g_, node_.inputs[0], builder_.is_constant(node_.inputs[1]))) {
      const base::Status tried = guarded([&] { return describe_primitive(candidate); });
      if (tried.ok()) return add_steps();
      reason = tried.message();
    }
    return base::unsupported("convolution: " + reason);
  }

 private:
  // conv, then the addition of a constant a channel: that is a bias, which every kernel takes.
  void take_bias_from_chain() {
    if (bias_.valid() || operations_.empty()) return;
    const PostOperation& first = operations_[0];
    if (first.kind != PostOperation::Kind::kBinary ||
        first.algorithm != dnnl::algorithm::binary_add || !builder_.is_constant(first.operand))
      return;
    const ir::Shape shape = builder_.node(first.operand).type.shape();
    const std::size_t spatial = g_.target.size() - 2;
    if (shape.size() < spatial + 1 || shape[shape.size() - spatial - 1] != g_.filters() ||
        builder_.node(first.operand).type.elements() != g_.filters())
      return;
    bias_ = first.operand;
    operations_.erase(operations_.begin());
  }

  base::Status describe_primitive(const Candidate& candidate) {
    const memory::desc source = formed(g_.source, candidate.source);
    const memory::desc target = formed(g_.target, candidate.target);
    const memory::desc weights = any_layout(g_.grouped_weights());
    const memory::desc bias({g_.filters()}, memory::data_type::f32, memory::format_tag::x);
    const auto kind = dnnl::prop_kind::forward_inference;
    const Primitive::desc desc =
        bias_.valid() ? Primitive::desc(kind, candidate.algorithm, source, weights, bias, target,
                                        g_.strides, g_.dilations, g_.pads_before, g_.pads_after)
                      : Primitive::desc(kind, candidate.algorithm, source, weights, target,
                                        g_.strides, g_.dilations, g_.pads_before, g_.pads_after);
    // Operands of post-operations need the target's layout, which a first descriptor tells.
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    Layout layout;
    if (candidate.target == Form::kAny) {
      const Primitive::primitive_desc bare(desc, attr, onednn_engine());
      EGRET_ASSIGN_OR_RETURN(layout, layout_of(bare.dst_desc()));
    } else {
      EGRET_ASSIGN_OR_RETURN(layout, layout_of(target));
    }
    target_ = {g_.target, g_.target, layout};
    // Accumulating costs no operand; but an addend that lives on has to be copied for it, which
    // only Winograd, without any other way, is worth.
    const bool winograd = candidate.algorithm == dnnl::algorithm::convolution_winograd;
    accumulate_ = accumulated_operation(builder_, group_, operations_, target_, !winograd);
    EGRET_ASSIGN_OR_RETURN(const dnnl::post_ops ops,
                           describe_epilogue(builder_.graph(), operations_, target_, accumulate_));
    attr.set_post_ops(ops);
    Primitive::primitive_desc pd(desc, attr, onednn_engine());
    const std::string implementation = pd.impl_info_str();
    EGRET_RETURN_IF_ERROR(reject_reference(implementation));
    // oneDNN 2.6.3 computes windows of padding alone in a kernel of their own, which loses a
    // register of the post-operations and crashes.
    if (implementation.find("brg") != std::string::npos && !operations_.empty() &&
        g_.has_empty_windows())
      return base::unsupported(implementation + " with windows of padding alone");
    if (!candidate.gemm && implementation.find("gemm") != std::string::npos)
      return base::unsupported("only " + implementation);
    EGRET_ASSIGN_OR_RETURN(source_layout_, layout_of(pd.src_desc()));
    EGRET_ASSIGN_OR_RETURN(const Layout chosen, layout_of(pd.dst_desc()));
    if (!same_layout(chosen, layout, g_.target))
      return base::unsupported("the layout changes with the epilogue");
    primitive_ = pd;
    return base::ok();
  }

  base::Status add_steps() {
    const Primitive::primitive_desc& pd = primitive_;
    const Operand source = builder_.in_layout(node_.inputs[0], source_layout_);
    const ir::Shape grouped = g_.grouped_weights();
    EGRET_ASSIGN_OR_RETURN(
        const Operand weights,
        weights_operand(builder_, descriptor(grouped, row_major(grouped)),
                        builder_.in_row_major(node_.inputs[1]), pd.weights_desc()));
    EGRET_ASSIGN_OR_RETURN(BoundEpilogue epilogue,
                           bind_epilogue(builder_, group_, operations_, target_, accumulate_));
    std::vector<PrimitiveStep::Argument> arguments = std::move(epilogue.arguments);
    arguments.push_back({DNNL_ARG_SRC, pd.src_desc(), source});
    arguments.push_back({DNNL_ARG_WEIGHTS, pd.weights_desc(), weights});
    if (bias_.valid())
      arguments.push_back({DNNL_ARG_BIAS, pd.bias_desc(), builder_.in_row_major(bias_)});
    const auto scratch = static_cast<std::int64_t>(pd.scratchpad_desc().get_size());
    if (scratch > 0)
      arguments.push_back({DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), builder_.bytes(scratch)});
    Operand target;
    if (epilogue.accumulated) {
      target = *epilogue.accumulated;
      builder_.set_home(group_.root(), target);
    } else {
      target = builder_.output(group_.root(), target_.layout);
    }
    arguments.push_back({DNNL_ARG_DST, pd.dst_desc(), target});
    auto step = std::make_unique<PrimitiveStep>(Primitive(pd), std::move(arguments));
    const std::vector<Operand> touched = step->operands();
    builder_.add(std::move(step), touched, "conv", pd.impl_info_str());
    return base::ok();
  }

  PlanBuilder& builder_;
  const Group& group_;
  const ir::Node& node_;
  Geometry g_;
  std::vector<PostOperation> operations_;
  ir::NodeId bias_{};
  // Of the candidate that was taken.
  EpilogueTarget target_;
  int accumulate_ = -1;
  Layout source_layout_;
  Primitive::primitive_desc primitive_;
};

}  // namespace

base::Status make_conv_kernel(PlanBuilder& builder, const Group& group) {
  const ir::Node& node = builder.node(group.anchor());
  if (node.type.dtype != ir::DType::kF32) return base::unsupported("convolution of other than f32");
  if (node.type.rank() < 3 || node.type.rank() > 5)
    return base::unsupported("convolution with more than 3 spatial axes");
  if (node.type.elements() == 0 || builder.node(node.inputs[0]).type.elements() == 0 ||
      builder.node(node.inputs[1]).type.elements() == 0)
    return base::unsupported("an empty tensor");
  EGRET_ASSIGN_OR_RETURN(std::vector<PostOperation> operations,
                         post_operations(builder.graph(), group));
  return ConvMaker(builder, group, std::move(operations)).make();
}

}  // namespace egret::backends::cpu
