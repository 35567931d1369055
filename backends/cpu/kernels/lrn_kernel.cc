// SPDX-License-Identifier: Apache-2.0
// Local response normalization across channels, in the layout of its input: by vectors of channels
// where these are innermost, and by oneDNN where tensors are row-major and the window is odd. On
// blocks of 8 channels oneDNN takes 1.3 to 1.8 times as long as our loops.
#include <algorithm>

#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/loops/parallel_loop.h"
#include "backends/cpu/loops/response_norm.h"
#include "backends/cpu/plan/onednn.h"

namespace egret::backends::cpu {
namespace {

// Elements below which one thread is as fast as several.
constexpr std::int64_t kParallelElements = 16384;
// Positions of row-major channels that are computed together, at most.
constexpr std::int64_t kPositions = 256;

// Positions of an image follow one another: each has `lanes` channels, the other channels are in
// groups that are `stride` apart.
class ChannelNormStep : public Step {
 public:
  ChannelNormStep(const Operand& x, const Operand& y, const Operand& scratch,
                  const ResponseNorm& norm, std::int64_t lanes, int threads)
      : x_(x), y_(y), scratch_(scratch), norm_(norm), lanes_(lanes), threads_(threads) {
    const ir::Shape shape = x.shape();
    images_ = shape[0];
    for (std::size_t i = 2; i < shape.size(); ++i) positions_ *= shape[i];
  }

  static std::int64_t scratch_elements(const ResponseNorm& norm) {
    return 2 * norm.channels + norm.size;
  }

  base::Status run(const Addresses& addresses) override {
    const std::int64_t count = images_ * positions_;
    const bool parallel = count * norm_.channels >= kParallelElements;
    const std::int64_t parts = parallel ? std::min<std::int64_t>(threads_, count) : 1;
    const float* const x = addresses.at(x_);
    float* const y = addresses.at(y_);
    parallel_for(static_cast<int>(parts), parts, [&](std::int64_t part) {
      float* const own = addresses.at(scratch_) + part * scratch_elements(norm_);
      for (std::int64_t i = count * part / parts; i < count * (part + 1) / parts; ++i) {
        const std::int64_t at =
            i / positions_ * positions_ * norm_.channels + i % positions_ * lanes_;
        normalize_channels(norm_, x + at, lanes_, positions_ * lanes_, own, y + at);
      }
    });
    return base::ok();
  }

 private:
  Operand x_, y_, scratch_;
  ResponseNorm norm_;
  std::int64_t lanes_;
  int threads_;
  std::int64_t images_ = 1, positions_ = 1;
};

class RowNormStep : public Step {
 public:
  RowNormStep(const Operand& x, const Operand& y, const ResponseNorm& norm, int threads)
      : x_(x), y_(y), norm_(norm), threads_(threads) {
    const ir::Shape shape = x.shape();
    images_ = shape[0];
    for (std::size_t i = 2; i < shape.size(); ++i) positions_ *= shape[i];
  }

  base::Status run(const Addresses& addresses) override {
    const std::int64_t chunks = (positions_ + kPositions - 1) / kPositions;
    const bool parallel = images_ * positions_ * norm_.channels >= kParallelElements;
    const float* const x = addresses.at(x_);
    float* const y = addresses.at(y_);
    parallel_for(parallel ? threads_ : 1, images_ * chunks, [&](std::int64_t piece) {
      const std::int64_t first = piece % chunks * kPositions;
      const std::int64_t at = piece / chunks * positions_ * norm_.channels + first;
      normalize_positions(norm_, x + at, positions_, std::min(kPositions, positions_ - first),
                          y + at);
    });
    return base::ok();
  }

 private:
  Operand x_, y_;
  ResponseNorm norm_;
  int threads_;
  std::int64_t images_ = 1, positions_ = 1;
};

base::Status add_onednn_norm(PlanBuilder& builder, const Group& group) {
  const ir::Node& node = builder.node(group.root());
  const ir::Shape shape = node.type.shape();
  if (node.attrs.integer("size") % 2 == 0 || shape.size() != 4)
    return base::unsupported("a window that oneDNN centers differently");
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::lrn_forward::desc desc(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::lrn_across_channels,
      descriptor(shape, row_major(shape)), node.attrs.integer("size"),
      static_cast<float>(node.attrs.real("alpha")), static_cast<float>(node.attrs.real("beta")),
      static_cast<float>(node.attrs.real("bias")));
  const dnnl::lrn_forward::primitive_desc pd(desc, attr, onednn_engine());
  EGRET_RETURN_IF_ERROR(reject_reference(pd.impl_info_str()));
  std::vector<PrimitiveStep::Argument> arguments{
      {DNNL_ARG_SRC, pd.src_desc(), builder.in_row_major(node.inputs[0])}};
  const auto scratch = static_cast<std::int64_t>(pd.scratchpad_desc().get_size());
  if (scratch > 0)
    arguments.push_back({DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), builder.bytes(scratch)});
  arguments.push_back(
      {DNNL_ARG_DST, pd.dst_desc(), builder.output(group.root(), row_major(shape))});
  auto step = std::make_unique<PrimitiveStep>(dnnl::lrn_forward(pd), std::move(arguments));
  const std::vector<Operand> touched = step->operands();
  builder.add(std::move(step), touched, "lrn", pd.impl_info_str());
  return base::ok();
}

}  // namespace

base::Status make_lrn_kernel(PlanBuilder& builder, const Group& group) {
  const ir::Node& node = builder.node(group.root());
  const ir::Shape shape = node.type.shape();
  if (node.type.dtype != ir::DType::kF32 || shape.size() < 3 || shape.size() > 5 ||
      node.type.elements() == 0)
    return base::unsupported("normalization of this type");
  const std::int64_t size = node.attrs.integer("size");
  const ResponseNorm norm{
      .channels = shape[1],
      .size = size,
      .scale = static_cast<float>(node.attrs.real("alpha") / static_cast<double>(size)),
      .beta = static_cast<float>(node.attrs.real("beta")),
      .bias = static_cast<float>(node.attrs.real("bias"))};
  const Layout home = builder.home(node.inputs[0]).layout;
  const bool blocked = home.block > 1 && !is_padded(home, shape) &&
                       same_layout(home, channel_blocked(shape, home.block), shape);
  const bool last = home.block == 1 && !is_row_major(home, shape) &&
                    same_layout(home, channels_last(shape), shape);
  if (!blocked && !last) {
    if (guarded([&] { return add_onednn_norm(builder, group); }).ok()) return base::ok();
    const Operand x = builder.in_row_major(node.inputs[0]);
    const Operand y = builder.output(group.root(), row_major(shape));
    const Operand touched[] = {x, y};
    builder.add(std::make_unique<RowNormStep>(x, y, norm, builder.threads()), touched, "lrn",
                "own:rows");
    return base::ok();
  }
  const Operand x = builder.in_layout(node.inputs[0], home);
  const Operand scratch =
      builder.bytes(ChannelNormStep::scratch_elements(norm) * builder.threads() * 4);
  const Operand y = builder.output(group.root(), home);
  const Operand touched[] = {x, scratch, y};
  builder.add(std::make_unique<ChannelNormStep>(x, y, scratch, norm,
                                                blocked ? home.block : shape[1], builder.threads()),
              touched, "lrn", "own:channel vectors");
  return base::ok();
}

}  // namespace egret::backends::cpu
