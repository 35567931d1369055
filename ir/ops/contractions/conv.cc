// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/operator.h"
#include "ir/ops/families/window.h"

namespace egret::ir::ops {
namespace {

//   out[n, o, y..] = sum c < C/G, r.. < K... where inside. x[n, g(o)*C/G + c, position(y, r)..] *
//   w[o, c, r..]
// with g(o) = o div (O/G).
void define(Definition& d) {
  if (!d.require_same_dtype() || !d.require_rank_at_least(0, 3) || !d.require_rank(1, d.rank(0)))
    return;
  const Index group = d.size("group");
  const Index channels = d.dim(0, 1);
  const Index filters = d.dim(1, 0);
  const Index group_channels = d.dim(1, 1);
  if (!d.require(group >= 1, "group must be positive")) return;
  d.require(group_channels * group == channels, "input has " + to_string(channels) +
                                                    " channels, the kernel covers " +
                                                    to_string(group_channels * group));
  if (!d.require(mod(filters, group) == 0, "group must divide the number of filters")) return;

  std::vector<Index> kernel;
  for (int axis = 2; axis < d.rank(1); ++axis) kernel.push_back(d.dim(1, axis));
  const Windows windows(d, kernel);
  if (!d.ok()) return;
  std::vector<Index> extents{group_channels};
  extents.insert(extents.end(), kernel.begin(), kernel.end());

  const auto out = d.output(d.dtype(0), windows.output_dims(d.dim(0, 0), filters));
  const std::span<const Index> window = std::span(out).subspan(2);
  const Index first_channel = div(out[1], div(filters, group)) * group_channels;
  d.value(d.reduce_box(
      Reduction::kSum, extents,
      [&](std::span<const Index> r) {
        std::vector<Index> x{out[0], first_channel + r[0]};
        std::vector<Index> w{out[1], r[0]};
        for (std::size_t i = 0; i < kernel.size(); ++i) {
          x.push_back(windows.position(i, window[i], r[i + 1]));
          w.push_back(r[i + 1]);
        }
        return d.read(0, x) * d.read(1, w);
      },
      [&](std::span<const Index> r) { return windows.inside(window, r.subspan(1)); }));
}

}  // namespace

// ONNX Conv, with its optional bias, is imported by fused_conv.
Operator conv() {
  return with_window_attrs(
             primitive("conv",
                       "Convolution over 1 to 3 spatial axes, grouped and dilated, padded with "
                       "zeros; x is [N, C, ...], w is [O, C/group, ...]",
                       {"x", "w"}))
      .attr("group", std::int64_t{1}, "channel groups that do not mix")
      .shown_on({"f32[N,C,H,W]", "f32[K,C,3,3]"}, {{"strides", Integers{1, 1}},
                                                   {"pads", Integers{1, 1, 1, 1}},
                                                   {"dilations", Integers{1, 1}}})
      .defined_by(define)
      .onnx_export(write_conv);
}

}  // namespace egret::ir::ops
