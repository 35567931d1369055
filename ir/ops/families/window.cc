// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/window.h"

#include <algorithm>

#include "ir/core/symbolic_scope.h"
#include "ir/graph/builder.h"

namespace egret::ir {
namespace {

// Beyond any real window, and small enough that no index arithmetic overflows.
constexpr std::int64_t kLargest = std::int64_t{1} << 31;

bool is_zero(Index value) { return decided(value == 0).value_or(false); }

}  // namespace

Operator with_window_attrs(Operator op) {
  return std::move(op)
      .attr("strides", AttrKind::kIntegers, "step of the window, one number a spatial axis")
      .attr("pads", AttrKind::kIntegers, "padding before each spatial axis, then after each")
      .attr("dilations", AttrKind::kIntegers, "distance between taps, one number a spatial axis");
}

bool require_window_numbers(Definition& d, std::span<const Index> values) {
  for (const Index value : values) {
    if (value.is_constant() && (value.constant() > kLargest || value.constant() < -kLargest)) {
      return d.fail("window numbers must be at most 2^31, not " + to_string(value));
    }
  }
  return true;
}

Windows::Windows(Definition& d, std::vector<Index> kernel)
    : kernel_(std::move(kernel)),
      strides_(d.sizes("strides")),
      pads_(d.sizes("pads")),
      dilations_(d.sizes("dilations")) {
  const std::size_t axes = kernel_.size();
  if (!d.require_rank(0, static_cast<int>(axes) + 2)) return;
  if (strides_.size() != axes || dilations_.size() != axes || pads_.size() != 2 * axes) {
    d.fail("strides and dilations take one number a spatial axis, pads two");
    return;
  }
  for (const auto* values : {&kernel_, &strides_, &pads_, &dilations_}) {
    if (!require_window_numbers(d, *values)) return;
  }
  for (std::size_t i = 0; i < axes; ++i) {
    const Index size = d.dim(0, static_cast<int>(i) + 2);
    const Index before = pads_[i];
    const Index after = pads_[i + axes];
    if (!d.require(kernel_[i] >= 1, "the window is empty") ||
        !d.require(strides_[i] >= 1 && dilations_[i] >= 1,
                   "strides and dilations must be positive") ||
        !d.require(before >= 0 && after >= 0, "pads must not be negative")) {
      return;
    }
    // The number of positions for the first tap beyond position 0, as the window covers dilation *
    // (kernel - 1) + 1 elements.
    const Index room = size + before + after - dilations_[i] * (kernel_[i] - 1) - 1;
    if (!d.require(room >= 0, "the window is larger than the padded input")) return;
    sizes_.push_back(size);
    counts_.push_back(div(room, strides_[i]) + 1);
  }
}

Dims Windows::output_dims(Index first, Index second) const {
  Dims dims{std::move(first), std::move(second)};
  dims.insert(dims.end(), counts_.begin(), counts_.end());
  return dims;
}

std::vector<Index> Windows::place(std::span<const Index> pooled,
                                  std::span<const Index> taps) const {
  std::vector<Index> at{pooled[0], pooled[1]};
  for (std::size_t i = 0; i < taps.size(); ++i) {
    at.push_back(position(i, pooled[i + 2], taps[i]));
  }
  return at;
}

Index Windows::position(std::size_t axis, Index window, Index tap) const {
  return window * strides_[axis] + tap * dilations_[axis] - pads_[axis];
}

bool Windows::padded(std::size_t axis) const {
  return !is_zero(pads_[axis]) || !is_zero(pads_[axis + kernel_.size()]);
}

Guard Windows::inside(std::span<const Index> windows, std::span<const Index> taps) const {
  Guard all = true;
  for (std::size_t i = 0; i < kernel_.size(); ++i) {
    if (padded(i)) all = all && within(0, position(i, windows[i], taps[i]), sizes_[i]);
  }
  return all;
}

// The number of taps of a window that lie in the input, in closed form: an average without padding
// divides by it.
Index Windows::taps_inside(std::size_t axis, Index window) const {
  if (!padded(axis)) return kernel_[axis];
  // Taps below `first` lie before the input, those from `end` on after it.
  const Index start = position(axis, window, 0);
  const Index first = max(0, ceil_div(0 - start, dilations_[axis]));
  const Index end = min(kernel_[axis], ceil_div(sizes_[axis] - start, dilations_[axis]));
  return max(0, end - first);
}

// Taps that are no further apart than the input is long cannot step over it. It therefore suffices
// that the first window reaches the input and the last one begins before its end.
bool Windows::require_taps_inside(Definition& d) const {
  for (std::size_t i = 0; i < kernel_.size(); ++i) {
    if (!padded(i)) continue;
    const Index reach = dilations_[i] * (kernel_[i] - 1);
    const Index last = position(i, counts_[i] - 1, 0);
    if (!d.require(pads_[i] <= reach && last < sizes_[i] && dilations_[i] <= sizes_[i],
                   "a window lies in the padding alone")) {
      return false;
    }
  }
  return true;
}

bool OnnxWindows::has_excess() const {
  return std::ranges::any_of(ceil_excess, [](std::int64_t excess) { return excess != 0; });
}

Integers OnnxWindows::pads_with_excess() const {
  Integers all = pads;
  for (std::size_t i = 0; i < ceil_excess.size(); ++i) {
    all[i + ceil_excess.size()] += ceil_excess[i];
  }
  return all;
}

Attrs OnnxWindows::attrs() const {
  return {{"strides", strides}, {"pads", pads_with_excess()}, {"dilations", dilations}};
}

base::Result<Integers> read_spatial(const OnnxNode& node, std::string_view name, std::size_t count,
                                    std::int64_t least, std::int64_t otherwise) {
  Integers values = node.integers(name, Integers(count, otherwise));
  if (values.empty()) values.assign(count, otherwise);  // some exporters write an empty list
  if (values.size() != count) {
    return base::bad_input(std::string(name) + " must have " + std::to_string(count) +
                           " numbers, not " + std::to_string(values.size()));
  }
  for (const std::int64_t value : values) {
    if (value < least || value > kLargest) {
      return base::bad_input(std::string(name) + " contains " + std::to_string(value) +
                             ", which is out of range");
    }
  }
  return values;
}

base::Result<AutoPad> read_auto_pad(const OnnxNode& node) {
  const std::string text = node.text("auto_pad", "NOTSET");
  if (text.empty() || text == "NOTSET") return AutoPad::kNotSet;
  if (text == "VALID") return AutoPad::kValid;
  if (text == "SAME_UPPER") return AutoPad::kSameUpper;
  if (text == "SAME_LOWER") return AutoPad::kSameLower;
  return base::bad_input("auto_pad is '" + text + "'");
}

base::Result<std::int64_t> size_to_pad(const OnnxNode& node, std::size_t axis) {
  const Index size = node.type(node.input(0)).dims[axis + 2];
  if (!size.is_constant() || size.constant() > kLargest) {
    return base::unsupported("automatic padding over an axis of size " + to_string(size) +
                             "; bind it with --bind NAME=SIZE");
  }
  return size.constant();
}

// An odd total puts the extra element after the axis for SAME_UPPER and before it for SAME_LOWER.
void split_padding(AutoPad auto_pad, std::int64_t total, std::size_t axis, Integers& pads) {
  const std::int64_t smaller = total / 2;
  const std::int64_t before = auto_pad == AutoPad::kSameUpper ? smaller : total - smaller;
  pads[axis] = before;
  pads[axis + pads.size() / 2] = total - before;
}

namespace {

// Along one axis of known size.
struct Axis {
  std::int64_t size, covered, stride;  // covered: the extent of a window
};

// SAME padding: ceil(size / stride) windows, and all elements that these lack.
std::int64_t same_padding(const Axis& axis) {
  const std::int64_t windows = (axis.size + axis.stride - 1) / axis.stride;
  return std::max<std::int64_t>(0, (windows - 1) * axis.stride + axis.covered - axis.size);
}

// Ceil mode: one more window where the last is cut short, unless it would start in the padding.
std::int64_t ceil_excess(const Axis& axis, std::int64_t before, std::int64_t after) {
  const std::int64_t room = axis.size + before + after - axis.covered;
  if (room < 0) return 0;  // refused later, with a message
  const std::int64_t last = (room + axis.stride - 1) / axis.stride;
  if (last * axis.stride >= axis.size + before) return 0;
  // The padding that lets the usual, rounded-down count reach the last window.
  return last * axis.stride - room;
}

}  // namespace

// Reads what all windowed operators of ONNX share. Automatic padding and ceil mode depend on the
// sizes and become numbers here, so the definitions know explicit pads only.
base::Result<OnnxWindows> read_windows(const OnnxNode& node, Integers kernel) {
  const TensorType& x = node.type(node.input(0));
  if (x.rank() < 3) {
    return base::bad_input("the input has rank " + std::to_string(x.rank()) +
                           ", but windows need a spatial axis");
  }
  const auto axes = static_cast<std::size_t>(x.rank() - 2);
  OnnxWindows w;
  if (kernel.empty() || node.has_attr("kernel_shape")) {
    EGRET_ASSIGN_OR_RETURN(w.kernel, read_spatial(node, "kernel_shape", axes, 1, 0));
    if (!kernel.empty() && kernel != w.kernel) {
      return base::bad_input("kernel_shape differs from the shape of the kernel");
    }
  } else {
    w.kernel = std::move(kernel);
  }
  EGRET_ASSIGN_OR_RETURN(w.strides, read_spatial(node, "strides", axes, 1, 1));
  EGRET_ASSIGN_OR_RETURN(w.dilations, read_spatial(node, "dilations", axes, 1, 1));
  EGRET_ASSIGN_OR_RETURN(w.pads, read_spatial(node, "pads", 2 * axes, 0, 0));
  w.ceil_excess.assign(axes, 0);

  EGRET_ASSIGN_OR_RETURN(const AutoPad auto_pad, read_auto_pad(node));
  const bool same = auto_pad == AutoPad::kSameUpper || auto_pad == AutoPad::kSameLower;
  const bool ceil = node.integer("ceil_mode", 0) != 0;
  if (auto_pad == AutoPad::kValid) w.pads.assign(2 * axes, 0);
  if (!same && !ceil) return w;
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t covered = w.dilations[i] * (w.kernel[i] - 1) + 1;
    // A window at each element, whatever the size: it lacks its own extent, and none is cut short.
    if (w.strides[i] == 1) {
      if (same) split_padding(auto_pad, covered - 1, i, w.pads);
      continue;
    }
    EGRET_ASSIGN_OR_RETURN(const std::int64_t size, size_to_pad(node, i));
    const Axis axis{size, covered, w.strides[i]};
    if (same) {
      split_padding(auto_pad, same_padding(axis), i, w.pads);
    } else {
      w.ceil_excess[i] = ceil_excess(axis, w.pads[i], w.pads[i + axes]);
    }
  }
  return w;
}

bool is_dilated(const Attrs& attrs) {
  return std::ranges::any_of(attrs.integers("dilations"), [](std::int64_t d) { return d != 1; });
}

std::vector<OnnxWriter::Attribute> window_attributes(const OnnxWriter& writer) {
  const Attrs& attrs = writer.attrs();
  std::vector<OnnxWriter::Attribute> result{{"kernel_shape", attrs.integers("kernel")},
                                            {"pads", attrs.integers("pads")},
                                            {"strides", attrs.integers("strides")}};
  if (is_dilated(attrs)) result.push_back({"dilations", attrs.integers("dilations")});
  return result;
}

}  // namespace egret::ir
