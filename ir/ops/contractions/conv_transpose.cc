// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/graph/builder.h"
#include "ir/graph/onnx_arguments.h"
#include "ir/graph/operator.h"
#include "ir/ops/families/normalization_definition.h"
#include "ir/ops/families/window.h"

namespace egret::ir::ops {
namespace {

// The adjoint of convolution in x. Tap r of input position p adds to output position
// p * stride + r * dilation - pad_before; turned around, with t = y + pad_before - r * dilation,
//
//   out[n, o, y..] = sum c < C/G, r.. < K... where stride divides t, 0 <= t/stride < size.
//                    x[n, g*C/G + c, t/stride ..] * w[g*C/G + c, o mod (O/G), r..]
//
// with g = o div (O/G). The output covers what the taps reach, less the pads.
void define(Definition& d) {
  if (!d.require_same_dtype() || !d.require_rank_at_least(0, 3) || !d.require_rank(1, d.rank(0)))
    return;
  const auto spatial = static_cast<std::size_t>(d.rank(0) - 2);
  const std::vector<Index> strides = d.sizes("strides");
  const std::vector<Index> dilations = d.sizes("dilations");
  const std::vector<Index> pads = d.sizes("pads");
  const std::vector<Index> extra = d.sizes("output_padding");
  const Index group = d.size("group");
  if (strides.size() != spatial || dilations.size() != spatial || pads.size() != 2 * spatial ||
      extra.size() != spatial) {
    d.fail("strides, dilations and output_padding take one number a spatial axis, pads two");
    return;
  }
  for (const auto* values : {&strides, &dilations, &pads, &extra}) {
    if (!require_window_numbers(d, *values)) return;
  }
  if (!d.require(group >= 1, "group must be positive")) return;
  if (!d.require(d.dim(1, 0) == d.dim(0, 1), "input and kernel differ in channels")) return;
  if (!d.require(mod(d.dim(0, 1), group) == 0, "group must divide the channels")) return;
  const Index group_channels = div(d.dim(0, 1), group);
  const Index group_filters = d.dim(1, 1);

  Dims dims{d.dim(0, 0), group_filters * group};
  std::vector<Index> extents{group_channels};
  for (std::size_t i = 0; i < spatial; ++i) {
    const int axis = static_cast<int>(i) + 2;
    if (!d.require(strides[i] >= 1 && dilations[i] >= 1, "strides and dilations must be positive"))
      return;
    extents.push_back(d.dim(1, axis));
    dims.push_back(strides[i] * (d.dim(0, axis) - 1) + dilations[i] * (d.dim(1, axis) - 1) + 1 +
                   extra[i] - pads[i] - pads[i + spatial]);
  }
  const auto out = d.output(d.dtype(0), dims);
  if (!d.ok()) return;
  const Index first_channel = div(out[1], group_filters) * group_channels;
  const auto distance = [&](std::span<const Index> r, std::size_t i) {
    return out[i + 2] + pads[i] - r[i + 1] * dilations[i];
  };
  d.value(d.reduce_box(
      Reduction::kSum, extents,
      [&](std::span<const Index> r) {
        std::vector<Index> x{out[0], first_channel + r[0]};
        std::vector<Index> w{first_channel + r[0], mod(out[1], group_filters)};
        for (std::size_t i = 0; i < spatial; ++i) {
          x.push_back(div(distance(r, i), strides[i]));
          w.push_back(r[i + 1]);
        }
        return d.read(0, x) * d.read(1, w);
      },
      [&](std::span<const Index> r) {
        Guard reached = true;
        for (std::size_t i = 0; i < spatial; ++i) {
          const Index t = distance(r, i);
          reached = reached && mod(t, strides[i]) == 0 &&
                    within(0, div(t, strides[i]), d.dim(0, static_cast<int>(i) + 2));
        }
        return reached;
      }));
}

// ONNX gives either pads, or an output shape (SAME: input times stride) from which they follow.
base::Status set_pads(const OnnxNode& node, const Integers& kernel, const Integers& strides,
                      const Integers& dilations, Integers& pads, Integers& extra) {
  const std::size_t axes = kernel.size();
  EGRET_ASSIGN_OR_RETURN(const AutoPad auto_pad, read_auto_pad(node));
  if (auto_pad == AutoPad::kValid) pads.assign(2 * axes, 0);
  const bool same = auto_pad == AutoPad::kSameUpper || auto_pad == AutoPad::kSameLower;
  const Integers shape = node.integers("output_shape", {});
  if (shape.empty() && !same) return base::ok();
  if (!shape.empty() && shape.size() < axes) return base::bad_input("output_shape is too short");
  std::vector<Index> split(pads.begin(), pads.end());
  for (std::size_t i = 0; i < axes; ++i) {
    // What the windows reach beyond the wanted size; of SAME it is one number for all sizes.
    std::int64_t beyond = dilations[i] * (kernel[i] - 1) + 1 + extra[i] - strides[i];
    if (!shape.empty()) {
      EGRET_ASSIGN_OR_RETURN(const std::int64_t size, size_to_pad(node, i));
      beyond += strides[i] * size - shape[shape.size() - axes + i];
    }
    split_padding(auto_pad, std::max<std::int64_t>(0, beyond), i, split);
    extra[i] += std::max<std::int64_t>(0, -beyond);
  }
  EGRET_ASSIGN_OR_RETURN(pads, open_integers(split));
  return base::ok();
}

base::Result<std::vector<Value>> import(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const Value x = node.input(0);
  const Value w = node.input(1);
  const int rank = node.type(x).rank();
  if (rank < 3 || node.type(w).rank() != rank) {
    return base::bad_input("input " + to_string(node.type(x)) + " and kernel " +
                           to_string(node.type(w)) + " do not match");
  }
  const auto axes = static_cast<std::size_t>(rank - 2);
  Integers kernel;
  for (std::size_t i = 0; i < axes; ++i) {
    const Index size = node.type(w).dims[i + 2];
    if (!size.is_constant()) return base::unsupported("a kernel of unknown size");
    kernel.push_back(size.constant());
  }
  if (node.integers("kernel_shape", kernel) != kernel) {
    return base::bad_input("kernel_shape differs from the shape of the kernel");
  }
  EGRET_ASSIGN_OR_RETURN(const Integers strides, read_spatial(node, "strides", axes, 1, 1));
  EGRET_ASSIGN_OR_RETURN(const Integers dilations, read_spatial(node, "dilations", axes, 1, 1));
  EGRET_ASSIGN_OR_RETURN(Integers pads, read_spatial(node, "pads", 2 * axes, 0, 0));
  EGRET_ASSIGN_OR_RETURN(Integers extra, read_spatial(node, "output_padding", axes, 0, 0));
  EGRET_RETURN_IF_ERROR(set_pads(node, kernel, strides, dilations, pads, extra));
  const Value y = b.add("conv_transpose", {x, w},
                        {{"strides", strides},
                         {"pads", pads},
                         {"output_padding", extra},
                         {"dilations", dilations},
                         {"group", node.integer("group", 1)}});
  if (!node.has_input(2)) return only_output(y);
  return only_output(b.add("add", {y, per_channel(b, node.input(2), rank)}));
}

}  // namespace

Operator conv_transpose() {
  return with_window_attrs(
             primitive("conv_transpose",
                       "Transposed convolution over 1 to 3 spatial axes; x is [N, C, ...], w is "
                       "[C, O/group, ...]; pads cut the output",
                       {"x", "w"}))
      .attr("output_padding", AttrKind::kIntegers, "what is added after each spatial axis")
      .attr("group", std::int64_t{1}, "channel groups that do not mix")
      .shown_on({"f32[N,C,H,W]", "f32[C,K,3,3]"}, {{"strides", Integers{2, 2}},
                                                   {"pads", Integers{1, 1, 1, 1}},
                                                   {"dilations", Integers{1, 1}},
                                                   {"output_padding", Integers{1, 1}}})
      .defined_by(define)
      .onnx_import("ConvTranspose", import)
      .onnx_export(same_name_export("ConvTranspose"));
}

}  // namespace egret::ir::ops
