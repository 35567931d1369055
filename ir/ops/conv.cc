// SPDX-License-Identifier: Apache-2.0
#include "ir/operator.h"

namespace egret::ir::ops {
namespace {

//   out[n, o, y..] = sum c < C/G, r.. < K... where in range. x[n, g(o)*C/G + c, y*s + r*d - p ..] *
//   w[o, c, r..]
// with g(o) = o div (O/G). Pads are explicit; SAME is resolved at import.
void define(Definition& d) {
  if (!d.require_same_dtype() || !d.require_rank_at_least(0, 3) || !d.require_rank(1, d.rank(0)))
    return;
  const auto spatial = static_cast<std::size_t>(d.rank(0) - 2);
  const std::vector<Index> strides = d.sizes("strides");
  const std::vector<Index> dilations = d.sizes("dilations");
  const std::vector<Index> pads = d.sizes("pads");
  const Index group = d.size("group");
  if (strides.size() != spatial || dilations.size() != spatial || pads.size() != 2 * spatial) {
    d.fail("strides and dilations take one number a spatial axis, pads two");
    return;
  }
  const Index channels = d.dim(0, 1);
  const Index filters = d.dim(1, 0);
  const Index group_channels = d.dim(1, 1);
  if (!d.require(group >= 1, "group must be positive")) return;
  d.require(group_channels * group == channels, "input has " + to_string(channels) +
                                                    " channels, the kernel covers " +
                                                    to_string(group_channels * group));
  if (!d.require(mod(filters, group) == 0, "group must divide the number of filters")) return;

  Dims dims{d.dim(0, 0), filters};
  std::vector<Index> extents{group_channels};
  for (std::size_t i = 0; i < spatial; ++i) {
    const int axis = static_cast<int>(i) + 2;
    const Index kernel = d.dim(1, axis);
    if (!d.require(strides[i] >= 1 && dilations[i] >= 1, "strides and dilations must be positive"))
      return;
    d.require(pads[i] >= 0 && pads[i + spatial] >= 0, "pads must not be negative");
    const Index room =
        d.dim(0, axis) + pads[i] + pads[i + spatial] - dilations[i] * (kernel - 1) - 1;
    if (!d.require(room >= 0, "the kernel is larger than the padded input")) return;
    dims.push_back(div(room, strides[i]) + 1);
    extents.push_back(kernel);
  }

  const auto out = d.output(d.dtype(0), dims);
  const Index first_channel = div(out[1], div(filters, group)) * group_channels;
  const auto position = [&](std::span<const Index> r, std::size_t i) {
    return out[i + 2] * strides[i] + r[i + 1] * dilations[i] - pads[i];
  };
  d.value(d.reduce_box(
      Reduction::kSum, extents,
      [&](std::span<const Index> r) {
        std::vector<Index> x{out[0], first_channel + r[0]};
        std::vector<Index> w{out[1], r[0]};
        for (std::size_t i = 0; i < spatial; ++i) {
          x.push_back(position(r, i));
          w.push_back(r[i + 1]);
        }
        return d.read(0, x) * d.read(1, w);
      },
      [&](std::span<const Index> r) {
        Guard inside = true;
        for (std::size_t i = 0; i < spatial; ++i) {
          const bool unpadded = pads[i].is_constant() && pads[i].constant() == 0 &&
                                pads[i + spatial].is_constant() &&
                                pads[i + spatial].constant() == 0;
          if (!unpadded)
            inside = inside && within(0, position(r, i), d.dim(0, static_cast<int>(i) + 2));
        }
        return inside;
      }));
}

}  // namespace

// ONNX Conv, with its optional bias, is imported by fused_conv.
Operator conv() {
  return primitive(
             "conv",
             "Convolution over 1 to 3 spatial axes, grouped and dilated; x is [N, C, ...], w is "
             "[O, C/group, ...]",
             {"x", "w"})
      .attr("strides", AttrKind::kIntegers, "step of the window, one number a spatial axis")
      .attr("pads", AttrKind::kIntegers, "zeros put before each spatial axis, then after each")
      .attr("dilations", AttrKind::kIntegers, "distance between taps, one number a spatial axis")
      .attr("group", std::int64_t{1}, "channel groups that do not mix")
      .defined_by(define)
      .onnx_export(same_name_export("Conv"));
}

}  // namespace egret::ir::ops
