// SPDX-License-Identifier: Apache-2.0
// Windows that slide over the spatial axes (2 and up) of an image tensor [N, C, ...], shared by
// convolution and pooling. Along one spatial axis of size d, tap r of window y lies at
//
//     position = y * stride + r * dilation - pad_before,     0 <= r < kernel,
//
// inside the input where 0 <= position < d; there are
// (d + pad_before + pad_after - dilation * (kernel - 1) - 1) div stride + 1 windows.
// ONNX's automatic padding and ceil mode become explicit pads at import, expressions over the sizes
// where these are open.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "ir/graph/onnx_binding.h"
#include "ir/graph/operator.h"

namespace egret::ir {

// Declares the attributes strides, pads and dilations.
Operator with_window_attrs(Operator op);

// Whether window numbers are at most 2^31, which keeps arithmetic on positions from overflowing.
bool require_window_numbers(Definition& d, std::span<const Index> values);

// The windows of an operator with these attributes, over input 0.
class Windows {
 public:
  // `kernel` has a size for each spatial axis. Check d.ok() before anything else is used.
  Windows(Definition& d, std::vector<Index> kernel);

  std::size_t spatial_axes() const { return kernel_.size(); }
  const std::vector<Index>& kernel() const { return kernel_; }
  const std::vector<Index>& counts() const { return counts_; }  // windows along each spatial axis
  // {first, second, counts()...}: the sizes of a result with a window at each spatial position.
  Dims output_dims(Index first, Index second) const;
  Index position(std::size_t axis, Index window, Index tap) const;
  // The index in input 0 of a tap of the pooled element {n, c, windows...}.
  std::vector<Index> place(std::span<const Index> pooled, std::span<const Index> taps) const;
  // Whether a tap is inside along all axes; windows and taps have one index a spatial axis.
  Guard inside(std::span<const Index> windows, std::span<const Index> taps) const;
  // Requires that every window has a tap inside the input, which a maximum needs. Sufficient, and
  // necessary unless the dilation is larger than the input.
  bool require_taps_inside(Definition& d) const;
  // The number of taps of a window that are inside along an axis.
  Index taps_inside(std::size_t axis, Index window) const;

 private:
  bool padded(std::size_t axis) const;

  std::vector<Index> kernel_;
  std::vector<Index> strides_;
  std::vector<Index> pads_;
  std::vector<Index> dilations_;
  std::vector<Index> sizes_;  // of the input
  std::vector<Index> counts_;
};

// The windows of an ONNX node.
struct OnnxWindows {
  Integers kernel;
  Integers strides;
  std::vector<Index> pads;  // before each spatial axis, then after each; ceil_excess is not in it
  Integers dilations;
  // The excess that ceil mode adds after each spatial axis to fit its last window. Unlike padding,
  // an average never counts it.
  std::vector<Index> ceil_excess;

  bool has_excess() const;
  std::vector<Index> pads_with_excess() const;
  // strides, pads (with excess), dilations. Errors: unsupported for open sizes outside of a scope
  // for all values.
  base::Result<Attrs> attrs() const;
};

// ONNX's auto_pad.
enum class AutoPad : std::uint8_t { kNotSet, kValid, kSameUpper, kSameLower };
// Errors: bad_input for a value that ONNX does not have.
base::Result<AutoPad> read_auto_pad(const OnnxNode& node);
// The size of a spatial axis of input 0, which an output shape needs. Errors: unsupported if it is
// symbolic or above 2^31.
base::Result<std::int64_t> size_to_pad(const OnnxNode& node, std::size_t axis);
// Splits `total` over the pads of a spatial axis. An odd element goes after the axis for
// SAME_UPPER, before it otherwise.
void split_padding(AutoPad auto_pad, Index total, std::size_t axis, std::vector<Index>& pads);

// Reads kernel_shape, strides, pads, dilations, auto_pad and ceil_mode of a node over its input 0.
// `kernel` is used where the node does not say kernel_shape.
base::Result<OnnxWindows> read_windows(const OnnxNode& node, Integers kernel = {});
// Its attribute `name`, one integer from `least` to 2^31 for each spatial axis (times `per_axis`);
// `otherwise` each where the node does not have it.
base::Result<Integers> read_spatial(const OnnxNode& node, std::string_view name, std::size_t count,
                                    std::int64_t least, std::int64_t otherwise);

// The padding of a node with windows of `kernel` over input 0: `pads`, or for open sizes `auto_pad`
// or `ceil_mode` where they make these pads.
std::vector<OnnxWriter::Attribute> padding_attributes(OnnxWriter& writer, const Integers& kernel);
// kernel_shape, the padding, strides, and dilations that are not ONNX's default.
std::vector<OnnxWriter::Attribute> window_attributes(OnnxWriter& writer);
// Whether the attributes have a padding that some inputs of open sizes need and no attribute says.
bool lacks_padding(std::span<const OnnxWriter::Attribute> attributes);
// A Conv of the operator's inputs and attributes, after a Pad where it lacks the padding.
base::Status write_conv(OnnxWriter& writer);
bool is_dilated(const Attrs& attrs);

}  // namespace egret::ir
