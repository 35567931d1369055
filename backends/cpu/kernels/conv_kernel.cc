// SPDX-License-Identifier: Apache-2.0
// Convolution by oneDNN.
//
// Candidates are tried in order; the first with an optimized implementation is taken. Winograd
// comes first, for 3x3 windows with constant weights (oneDNN 2.6.3 on AVX-512, one thread:
// 0.31-0.83 of the direct kernels' time from 16 channels on; the library itself never chooses it; a
// dilated window is first split into phases, see phases.h). Then come the direct kernels: in the
// layout of the input, in the layout that the graph prefers, in any layout, and last through GEMM.
// With less precision (rounding.h) its direct kernels come first, and f32 follows; those of
// integers read and write channels last. Blocked and channels-last kernels differ by less than 3 %
// where both exist, so avoiding reorders decides.
#include <algorithm>
#include <optional>
#include <utility>

#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/kernels/phases.h"
#include "backends/cpu/kernels/rounding.h"
#include "backends/cpu/kernels/row_product.h"
#include "backends/cpu/plan/channel_affine.h"
#include "backends/cpu/plan/epilogue.h"
#include "backends/cpu/plan/layout_forms.h"
#include "backends/cpu/plan/onednn.h"
#include "backends/cpu/plan/winograd.h"

namespace egret::backends::cpu {
namespace {

using dnnl::memory;
using Primitive = dnnl::convolution_forward;

constexpr auto kWinograd = dnnl::algorithm::convolution_winograd;

// The memory layout that a candidate asks of an activation; kAny leaves the choice to oneDNN.
enum class Form : std::uint8_t { kAny, kPlain, kBlocked, kChannelsLast };

struct Candidate {
  dnnl::algorithm algorithm = dnnl::algorithm::convolution_direct;
  Form source = Form::kAny;
  Form target = Form::kAny;
  bool gemm = false;     // whether an implementation by GEMM is good enough
  bool lowered = false;  // inputs in less precision
};

// The convolution in oneDNN's terms: shapes, and one stride, dilation and pair of pads per spatial
// axis. oneDNN counts dilations from 0, Egret from 1.
struct Geometry {
  ir::Shape source, weights, target;
  std::int64_t group = 1;
  memory::dims strides, dilations, pads_before, pads_after;

  std::int64_t channels() const { return source[1]; }
  std::int64_t filters() const { return target[1]; }
  bool depthwise() const { return group > 1 && group == channels() && group == filters(); }
  // Whether Winograd's algorithm applies (Lavin and Gray, 2016): undilated 3x3 windows of stride 1.
  // With fewer channels the transforms cost more than the products that they save.
  bool winograd() const {
    return group == 1 && weights.size() == 4 && weights[2] == 3 && weights[3] == 3 &&
           strides == memory::dims{1, 1} && dilations == memory::dims{0, 0} && channels() >= 16 &&
           filters() >= 16;
  }
  // The dilation, where the image divides into phases (phases.h) each padded by a pixel; else 1.
  std::int64_t phases() const {
    if (dilations.size() != 2 || dilations[0] != dilations[1]) return 1;
    const std::int64_t d = dilations[0] + 1;
    const memory::dims around{d, d};
    const bool whole = source[2] % d == 0 && source[3] % d == 0;
    return whole && pads_before == around && pads_after == around ? d : 1;
  }
  // The undilated convolution of one strip: in a phase, the taps of the dilated window are
  // neighbors.
  Geometry of_strip(std::int64_t d) const {
    Geometry one = *this;
    one.source = strip_shape(source, d);
    one.target = strip_shape(target, d);
    one.dilations = {0, 0};
    one.pads_before = one.pads_after = {1, 1};
    return one;
  }
  // Whether some output element sees padding alone.
  // The axes are independent: a window is empty if it is empty along one axis. The cost is the sum
  // over axes of output size times kernel size.
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

memory::desc formed(const ir::Shape& shape, Form form, Element element) {
  switch (form) {
    case Form::kPlain: return descriptor(shape, row_major(shape), element);
    case Form::kBlocked:
      return descriptor(shape, channel_blocked(shape, preferred_block()), element);
    case Form::kChannelsLast: return descriptor(shape, channels_last(shape), element);
    case Form::kAny: break;
  }
  return any_layout(shape, element);
}

// The form in which the operand lies now; kAny if it is none of the named ones.
Form lies_in(const Operand& operand) {
  const ir::Shape shape = operand.shape();
  if (operand.layout.block > 1) return Form::kBlocked;
  if (is_row_major(operand.layout, shape)) return Form::kPlain;
  if (same_layout(operand.layout, channels_last(shape), shape)) return Form::kChannelsLast;
  return Form::kAny;
}

Form named(LayoutForm form) {
  switch (form) {
    case LayoutForm::kRowMajor: return Form::kPlain;
    case LayoutForm::kChannelsLast: return Form::kChannelsLast;
    case LayoutForm::kBlocked: break;
  }
  return Form::kBlocked;
}

bool is_blocked(const std::optional<KernelLayouts>& layouts) {
  return !layouts || (*layouts == KernelLayouts{LayoutForm::kBlocked, LayoutForm::kBlocked});
}

// The candidates in the order of the header of this file: each keeps the layout that the input has
// before it asks for another one, because a reorder costs more than the difference of the kernels.
// Where layouts are asked for, those come first; Winograd's kernels have blocked ones.
std::vector<Candidate> candidates(const PlanBuilder& builder, const Geometry& g, ir::NodeId source,
                                  bool constant_weights,
                                  const std::optional<KernelLayouts>& layouts) {
  std::vector<Candidate> list;
  const std::int64_t block = preferred_block();
  const Form home = lies_in(builder.place(source));
  if (!builder.options().blocked) {
    list.push_back({.source = Form::kPlain, .target = Form::kPlain, .gemm = true});
  } else {
    if (g.winograd() && constant_weights && !builder.least_scratch && is_blocked(layouts))
      list.push_back({.algorithm = kWinograd});
    if (layouts)
      list.push_back({.source = named(layouts->reads), .target = named(layouts->writes)});
    // Padding channels to whole blocks wastes work; a few input channels are best read as they
    // come.
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

// The same in less precision, by direct kernels.
std::vector<Candidate> lowered(std::vector<Candidate> list, OperandForm form) {
  if (form == OperandForm::kI8)
    return {{.source = Form::kChannelsLast, .target = Form::kChannelsLast, .lowered = true},
            {.lowered = true}};
  std::erase_if(list, [](const Candidate& candidate) { return candidate.algorithm == kWinograd; });
  for (Candidate& candidate : list) candidate.lowered = true;
  return list;
}

// Makes one convolution: tries candidates, then adds its steps.
class ConvMaker {
 public:
  ConvMaker(PlanBuilder& builder, const Group& group, std::vector<PostOperation> operations)
      : builder_(builder),
        group_(group),
        node_(builder.node(group.anchor())),
        g_(geometry(builder, group.anchor())),
        operations_(std::move(operations)),
        how_(lowering_of(builder, group.anchor())) {
    if (node_.inputs.size() > 2) bias_ = node_.inputs[2];
    take_channel_affine_from_chain();
  }

  base::Status make() {
    const bool lowers = how_.form != OperandForm::kF32;
    if (!lowers && make_by_phases()) return base::ok();
    std::string reason = "no implementation";
    std::vector<Candidate> list = candidates(builder_, g_, node_.inputs[0],
                                             builder_.is_constant(node_.inputs[1]), group_.layouts);
    // They come first, and the f32 ones stay as fallback. An operator whose operands the graph
    // rounds is rather computed apart from its epilogue.
    if (lowers) {
      const std::vector<Candidate> in_f32 = std::exchange(list, lowered(list, how_.form));
      if (!is_asked() || group_.nodes.size() == 1)
        list.insert(list.end(), in_f32.begin(), in_f32.end());
    }
    for (const Candidate& candidate : list) {
      const base::Status tried = guarded([&] { return describe_primitive(candidate); });
      if (tried.ok()) return add_steps();
      reason = tried.message();
    }
    return base::unsupported("convolution: " + reason);
  }

 private:
  // A dilated convolution by Winograd kernels on strips of its phases.
  bool make_by_phases() {
    const std::int64_t phases = g_.phases();
    if (phases == 1 || !is_blocked(group_.layouts)) return false;
    // The candidate is described for the geometry of one strip. If anything fails, the original
    // geometry is restored and the usual candidates are tried.
    const Geometry whole = std::exchange(g_, g_.of_strip(phases));
    const std::int64_t block = preferred_block();  // copies of parts would zero what pads one
    const bool suits = g_.winograd() && g_.channels() % block == 0 && g_.filters() % block == 0 &&
                       builder_.options().blocked && !builder_.least_scratch &&
                       builder_.is_constant(node_.inputs[1]) &&
                       std::ranges::all_of(operations_, [](const PostOperation& operation) {
                         return operation.kind == PostOperation::Kind::kEltwise;
                       });
    if (suits && guarded([&] { return describe_primitive({.algorithm = kWinograd}); }).ok() &&
        phases_pay() && add_strip_steps(phases).ok())
      return true;
    g_ = whole;
    return false;
  }

  // With two product units direct kernels that know the dilation beat tiles of 2x2 (512 channels of
  // 14x14, one thread: 4.0 ms in channels-last, 4.9 ms by two strips), not those of 4x4 (a model of
  // such layers at batch 8: 132 ms, 107 ms). With one, all tiles win.
  bool phases_pay() const {
    return !has_two_product_units() || has_large_tiles(primitive_.impl_info_str());
  }

  // Folds per-channel constants of the chain into constant weights and bias; with integers, into
  // the scales of their sums.
  void take_channel_affine_from_chain() {
    if (bias_.valid() && !builder_.is_constant(bias_)) return;
    std::vector<PostOperation> operations = operations_;
    // The bias is the initial shift. Composition is computed in f64 and rounded to f32 once.
    std::vector<double> shift;
    for (std::int64_t c = 0; bias_.valid() && c < g_.filters(); ++c)
      shift.push_back(builder_.constant(bias_).f64_at(c));
    ChannelAffine affine =
        take_channel_affine(builder_.graph(), g_.target, builder_.is_constant(node_.inputs[1]),
                            std::move(shift), operations);
    // The bias is divided by the scales of sums of integers.
    const bool vanishes = how_.form == OperandForm::kI8 && std::ranges::count(affine.scale, 0) > 0;
    if (operations.size() == operations_.size() || vanishes) return;
    operations_ = std::move(operations);
    affine_ = std::move(affine);
  }

  bool has_bias() const { return affine_ ? affine_->shifts() : bias_.valid(); }
  Operand bias_operand() {
    return affine_ ? builder_.weights(affine_->bias()) : builder_.in_row_major(bias_);
  }
  Operand plain_weights() {
    if (!affine_ || !affine_->scales()) return builder_.in_row_major(node_.inputs[1]);
    return builder_.weights(affine_->scaled(builder_.constant(node_.inputs[1])));
  }

  Operand integer_weights() {
    return builder_.weights(
        weights_in_i8(builder_.constant(node_.inputs[1]), 0, how_.weight_scales));
  }
  // The factors of sums of integers: one, or one for each channel.
  std::vector<float> sum_scales() const {
    std::vector<float> scales = scales_of(how_);
    if (!affine_ || !affine_->scales()) return scales;
    if (scales.size() == 1) scales.resize(affine_->scale.size(), scales.front());
    for (std::size_t i = 0; i < scales.size(); ++i)
      scales[i] = static_cast<float>(scales[i] * affine_->scale[i]);
    return scales;
  }
  // The bias is added to sums of integers, before they are scaled.
  ir::Tensor scaled_bias() const {
    const std::vector<float> scales = sum_scales();
    const ir::Tensor plain = affine_ ? affine_->bias() : builder_.constant(bias_);
    ir::Tensor bias(ir::DType::kF32, ir::Shape{g_.filters()});
    const auto values = bias.mutable_as<float>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(plain.f64_at(static_cast<std::int64_t>(i)) /
                                     scales[scales.size() == 1 ? 0 : i]);
    }
    return bias;
  }

  // Describes the primitive without adding a step, and accepts it only if its implementation,
  // layouts and memory are good enough. A failure leaves the builder as it was, so that the next
  // candidate can be tried.
  base::Status describe_primitive(const Candidate& candidate) {
    lowers_ = candidate.lowered;
    writes_rounded_ = lowers_ && may_write_rounded();
    const bool integers = lowers_ && how_.form == OperandForm::kI8;
    if (integers && bias_.valid() && !builder_.is_constant(bias_))
      return base::unsupported("integers with a computed bias");
    const Lowering written =
        writes_rounded_ ? builder_.written_as[group_.root().index()] : Lowering();
    const Element element = lowers_ ? element_of(element_of(how_)) : Element::f32;
    const memory::desc source = formed(g_.source, candidate.source, element);
    const memory::desc target =
        formed(g_.target, candidate.target, element_of(element_of(written)));
    const memory::desc weights = any_layout(g_.grouped_weights(), integers ? Element::s8 : element);
    const memory::desc bias({g_.filters()}, memory::data_type::f32, memory::format_tag::x);
    const auto kind = dnnl::prop_kind::forward_inference;
    const Primitive::desc desc =
        has_bias() ? Primitive::desc(kind, candidate.algorithm, source, weights, bias, target,
                                     g_.strides, g_.dilations, g_.pads_before, g_.pads_after)
                   : Primitive::desc(kind, candidate.algorithm, source, weights, target, g_.strides,
                                     g_.dilations, g_.pads_before, g_.pads_after);
    // Operands of post-operations need the target's layout. A first descriptor without them tells
    // it.
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (integers) {
      const std::vector<float> scales = sum_scales();
      attr.set_output_scales(scales.size() == 1 ? 0 : 1 << 1, scales);
    }
    Layout layout;
    if (candidate.target == Form::kAny) {
      const Primitive::primitive_desc bare(desc, attr, onednn_engine());
      EGRET_ASSIGN_OR_RETURN(layout, layout_of(bare.dst_desc()));
    } else {
      EGRET_ASSIGN_OR_RETURN(layout, layout_of(target));
    }
    target_ = {g_.target, g_.target, layout};
    // Accumulation reads no extra operand, but an addend that lives on must be copied first. Only
    // Winograd is worth the copy, since it has no other way to add.
    const bool winograd = candidate.algorithm == kWinograd;
    accumulate_ = accumulated_operation(builder_, group_, operations_, target_, !winograd);
    EGRET_ASSIGN_OR_RETURN(const dnnl::post_ops ops,
                           describe_epilogue(builder_.graph(), operations_, target_, accumulate_));
    attr.set_post_ops(with_rounding(ops, written));
    Primitive::primitive_desc pd(desc, attr, onednn_engine());
    const std::string implementation = pd.impl_info_str();
    EGRET_RETURN_IF_ERROR(reject_reference(implementation));
    // oneDNN 2.6.3 computes windows of padding alone in a kernel of their own, which loses a
    // register of the post-operations and crashes.
    if (implementation.find("brg") != std::string::npos && !operations_.empty() &&
        g_.has_empty_windows())
      return base::unsupported(implementation + " with windows that contain only padding");
    if (lowers_ && !integers && implementation.find("bf16") == std::string::npos)
      return base::unsupported(implementation + " does not support bf16");
    if ((lowers_ || !candidate.gemm) && implementation.find("gemm") != std::string::npos)
      return base::unsupported("only " + implementation);
    if (winograd &&
        !winograd_pays(implementation, g_.channels(), g_.target[0] * g_.target[2] * g_.target[3]))
      return base::unsupported(implementation + " is not profitable");
    EGRET_ASSIGN_OR_RETURN(source_layout_, layout_of(pd.src_desc()));
    EGRET_ASSIGN_OR_RETURN(const Layout chosen, layout_of(pd.dst_desc()));
    if (!same_layout(chosen, layout, g_.target))
      return base::unsupported("the layout changes with the epilogue");
    if (has_large_tiles(implementation) && !fits_budget(pd))
      return base::unsupported(implementation + " takes too much memory");
    primitive_ = pd;
    return base::ok();
  }

  // Large tiles multiply the weights (6x6 transformed values for 3x3), so that a plan has a budget
  // for the additional weights and scratch space (winograd.h).
  bool fits_budget(const Primitive::primitive_desc& pd) const {
    const auto weights = static_cast<std::int64_t>(pd.weights_desc().get_size());
    return builder_.winograd_budget.spend(
        weights - builder_.node(node_.inputs[1]).type.bytes(),
        static_cast<std::int64_t>(pd.scratchpad_desc().get_size()));
  }

  // Whether the graph itself rounds the operands.
  bool is_asked() const { return builder_.given_form(group_.anchor()) != OperandForm::kF32; }

  // Whether all readers want the value rounded; an accumulated sum must be f32.
  bool may_write_rounded() const {
    const std::vector<Lowering>& forms = builder_.written_as;
    return !forms.empty() && forms[group_.root().index()].form == how_.form &&
           std::ranges::none_of(operations_, [&](const PostOperation& operation) {
             return operation.operand.valid() &&
                    builder_.node(operation.operand).type.shape() == g_.target;
           });
  }

  base::Status add_steps() {
    const Operand source = lowers_ ? builder_.rounded(node_.inputs[0], source_layout_, how_)
                                   : builder_.in_layout(node_.inputs[0], source_layout_);
    EGRET_ASSIGN_OR_RETURN(BoundEpilogue epilogue,
                           bind_epilogue(builder_, group_, operations_, target_, accumulate_));
    EGRET_ASSIGN_OR_RETURN(auto arguments, weight_arguments());
    arguments.insert(arguments.end(), epilogue.arguments.begin(), epilogue.arguments.end());
    Operand target;
    if (epilogue.accumulated) {
      target = *epilogue.accumulated;
      builder_.set_home(group_.root(), target);
    } else {
      target = writes_rounded_ ? builder_.rounded_output(group_.root(), target_.layout)
                               : builder_.output(group_.root(), target_.layout);
    }
    add_execution(std::move(arguments), source, target);
    return base::ok();
  }

  // Copies the phases into strips, runs the one primitive on each strip, and interleaves the
  // results.
  base::Status add_strip_steps(std::int64_t phases) {
    EGRET_ASSIGN_OR_RETURN(const auto arguments, weight_arguments());
    std::vector<Operand> sources, targets;
    for (std::int64_t i = 0; i < phases; ++i) {
      sources.push_back(
          builder_.temporary(ir::TensorType(ir::DType::kF32, g_.source), source_layout_));
      targets.push_back(
          builder_.temporary(ir::TensorType(ir::DType::kF32, g_.target), target_.layout));
    }
    split_phases(builder_, builder_.home(node_.inputs[0]), sources);
    for (std::size_t i = 0; i < sources.size(); ++i)
      add_execution(arguments, sources[i], targets[i]);
    const ir::Shape shape = node_.type.shape();
    join_phases(builder_, targets,
                builder_.output(group_.root(), channel_blocked(shape, preferred_block())));
    return base::ok();
  }

  // Weights, bias and scratch space of the primitive.
  base::Result<std::vector<PrimitiveStep::Argument>> weight_arguments() {
    const Primitive::primitive_desc& pd = primitive_;
    const ir::Shape grouped = g_.grouped_weights();
    const bool integers = lowers_ && how_.form == OperandForm::kI8;
    const Operand plain = integers ? integer_weights() : plain_weights();
    EGRET_ASSIGN_OR_RETURN(
        const Operand weights,
        weights_operand(builder_,
                        descriptor(grouped, row_major(grouped), element_of(plain.type.dtype)),
                        plain, pd.weights_desc()));
    std::vector<PrimitiveStep::Argument> arguments{{DNNL_ARG_WEIGHTS, pd.weights_desc(), weights}};
    if (has_bias()) {
      arguments.push_back({DNNL_ARG_BIAS, pd.bias_desc(),
                           integers ? builder_.weights(scaled_bias()) : bias_operand()});
    }
    const auto scratch = static_cast<std::int64_t>(pd.scratchpad_desc().get_size());
    if (scratch > 0)
      arguments.push_back({DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), builder_.bytes(scratch)});
    return arguments;
  }

  void add_execution(std::vector<PrimitiveStep::Argument> arguments, const Operand& source,
                     const Operand& target) {
    arguments.push_back({DNNL_ARG_SRC, primitive_.src_desc(), source});
    arguments.push_back({DNNL_ARG_DST, primitive_.dst_desc(), target});
    auto step = std::make_unique<PrimitiveStep>(Primitive(primitive_), std::move(arguments));
    const std::vector<Operand> touched = step->operands();
    builder_.add(std::move(step), touched, "conv", primitive_.impl_info_str());
  }

  PlanBuilder& builder_;
  const Group& group_;
  const ir::Node& node_;
  Geometry g_;
  std::vector<PostOperation> operations_;
  ir::NodeId bias_{};
  std::optional<ChannelAffine> affine_;  // of bias and chain
  // Of the candidate that was taken.
  EpilogueTarget target_;
  int accumulate_ = -1;
  Layout source_layout_;
  Lowering how_;  // of a candidate that lowers its inputs
  bool lowers_ = false, writes_rounded_ = false;
  Primitive::primitive_desc primitive_;
};

}  // namespace

base::Status make_conv_kernel(PlanBuilder& builder, const Group& group) {
  const ir::Node& node = builder.node(group.anchor());
  if (node.type.dtype != ir::DType::kF32)
    return base::unsupported("convolution of a type other than f32");
  if (node.type.rank() < 3 || node.type.rank() > 5)
    return base::unsupported("convolution with more than 3 spatial axes");
  if (node.type.elements() == 0 || builder.node(node.inputs[0]).type.elements() == 0 ||
      builder.node(node.inputs[1]).type.elements() == 0)
    return base::unsupported("an empty tensor");
  if (make_row_product(builder, group).ok()) return base::ok();
  EGRET_ASSIGN_OR_RETURN(std::vector<PostOperation> operations,
                         post_operations(builder.graph(), group));
  return ConvMaker(builder, group, std::move(operations)).make();
}

}  // namespace egret::backends::cpu
