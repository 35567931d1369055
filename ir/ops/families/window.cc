// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/window.h"

#include <algorithm>
#include <optional>

#include "ir/core/symbolic_scope.h"
#include "ir/graph/builder.h"
#include "ir/graph/onnx_arguments.h"

namespace egret::ir {
namespace {

// Beyond any real window, and small enough that no index arithmetic overflows.
constexpr std::int64_t kLargest = std::int64_t{1} << 31;

// Pads of a node in a model: few.
constexpr std::int64_t kMostPads = 64;

bool is_zero(Index value) { return decided(value == 0).value_or(false); }

struct Axis {
  Index size;
  std::int64_t covered, stride;  // covered: the extent of a window
};

// SAME padding: ceil(size / stride) windows, and all elements that these lack. Of stride 1 a window
// lies at each element, whatever the size; it lacks its own extent.
Index same_padding(const Axis& axis) {
  if (axis.stride == 1) return axis.covered - 1;
  const Index lacking =
      ceil_div(axis.size, axis.stride) * axis.stride - axis.size + (axis.covered - axis.stride);
  return axis.covered >= axis.stride ? lacking : max(0, lacking);
}

// Ceil mode: one more window where the last is cut short, unless it would start in the padding.
Index ceil_excess(const Axis& axis, Index before, Index after) {
  if (axis.stride == 1) return 0;
  const Index room = axis.size + before + after - axis.covered;
  if (room.is_constant() && room.constant() < 0) return 0;  // refused later, with a message
  const Index last = ceil_div(room, axis.stride) * axis.stride;
  // The padding that lets the usual, rounded-down count reach the last window.
  const Index excess = last - room;
  // last <= room + stride - 1: a window begins within the input if its extent covers the rest.
  if (after.is_constant() && after.constant() + axis.stride <= axis.covered) return excess;
  return min(1, max(0, axis.size + before - last)) * excess;
}

// Whether open pads are those of SAME.
bool is_same_padding(const Axis& axis, AutoPad auto_pad, Index before, Index behind) {
  std::vector<Index> pads(2);
  split_padding(auto_pad, same_padding(axis), 0, pads);
  return pads[0].same(before) && pads[1].same(behind);
}

// The padding of ceil mode without its excess, where that makes these open pads.
std::optional<std::int64_t> bare_padding(const Axis& axis, Index before, Index behind) {
  if (behind.is_constant()) return behind.constant();
  for (std::int64_t after = 0; after < std::min(axis.covered, kMostPads); ++after) {
    if ((ceil_excess(axis, before, after) + after).same(behind)) return after;
  }
  return std::nullopt;
}

// The number of windows under open pads of SAME or ceil mode, which cancel; nullopt for others.
std::optional<Index> count_of_open(const Axis& axis, Index before, Index behind) {
  if (behind.is_constant() || behind.node()->op == ExprOp::kSymbol) return std::nullopt;
  for (const AutoPad auto_pad : {AutoPad::kSameUpper, AutoPad::kSameLower}) {
    if (is_same_padding(axis, auto_pad, before, behind)) return ceil_div(axis.size, axis.stride);
  }
  const auto bare = bare_padding(axis, before, behind);
  const bool always = bare && *bare + axis.stride <= axis.covered;  // see ceil_excess()
  if (!always) return std::nullopt;
  return ceil_div(axis.size + before + *bare - axis.covered, axis.stride) + 1;
}

}  // namespace

// An odd total puts the extra element after the axis for SAME_UPPER and before it for SAME_LOWER.
void split_padding(AutoPad auto_pad, Index total, std::size_t axis, std::vector<Index>& pads) {
  const Index smaller = div(total, 2);
  const Index before = auto_pad == AutoPad::kSameUpper ? smaller : total - smaller;
  pads[axis] = before;
  pads[axis + pads.size() / 2] = total - before;
}

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
    const Index covered = dilations_[i] * (kernel_[i] - 1) + 1;
    std::optional<Index> count;
    if (covered.is_constant() && strides_[i].is_constant())
      count = count_of_open({size, covered.constant(), strides_[i].constant()}, before, after);
    // The number of positions for the first tap beyond position 0, as the window covers dilation *
    // (kernel - 1) + 1 elements.
    const Index room = size + before + after - dilations_[i] * (kernel_[i] - 1) - 1;
    if (!d.require(count ? *count >= 1 : room >= 0, "the window is larger than the padded input"))
      return;
    sizes_.push_back(size);
    counts_.push_back(count ? *count : div(room, strides_[i]) + 1);
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
  return std::ranges::any_of(ceil_excess, [](Index excess) { return !excess.same(0); });
}

std::vector<Index> OnnxWindows::pads_with_excess() const {
  std::vector<Index> all = pads;
  for (std::size_t i = 0; i < ceil_excess.size(); ++i) {
    all[i + ceil_excess.size()] = all[i + ceil_excess.size()] + ceil_excess[i];
  }
  return all;
}

base::Result<Attrs> OnnxWindows::attrs() const {
  EGRET_ASSIGN_OR_RETURN(Integers all, open_integers(pads_with_excess()));
  return Attrs{{"strides", strides}, {"pads", std::move(all)}, {"dilations", dilations}};
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

namespace {

// The spatial axes of the node's input.
std::vector<Axis> axes_of(const TensorType& x, const Integers& kernel, const Integers& strides,
                          const Integers& dilations) {
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < kernel.size(); ++i)
    axes.push_back({x.dims[i + 2], dilations[i] * (kernel[i] - 1) + 1, strides[i]});
  return axes;
}

// No window of a model is so large. It keeps the arithmetic on open sizes from overflowing.
bool is_too_large(const Axis& axis) {
  const bool known = axis.size.is_constant();
  return known ? axis.size.constant() > kLargest : axis.covered > kLargest;
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
  EGRET_ASSIGN_OR_RETURN(const Integers pads, read_spatial(node, "pads", 2 * axes, 0, 0));
  w.pads.assign(pads.begin(), pads.end());
  w.ceil_excess.assign(axes, 0);

  EGRET_ASSIGN_OR_RETURN(const AutoPad auto_pad, read_auto_pad(node));
  const bool same = auto_pad == AutoPad::kSameUpper || auto_pad == AutoPad::kSameLower;
  const bool ceil = node.integer("ceil_mode", 0) != 0;
  if (auto_pad == AutoPad::kValid) w.pads.assign(2 * axes, 0);
  const std::vector<Axis> spatial = axes_of(x, w.kernel, w.strides, w.dilations);
  for (std::size_t i = 0; i < axes && !same; ++i) {
    const Index padded = spatial[i].size + w.pads[i] + w.pads[i + axes];
    if (padded.is_constant() && padded.constant() < spatial[i].covered)
      return base::unsupported("the window is larger than the padded input");
  }
  if (!same && !ceil) return w;
  for (std::size_t i = 0; i < axes; ++i) {
    if (is_too_large(spatial[i]))
      return base::unsupported("automatic padding over an axis of size " +
                               to_string(spatial[i].size));
    if (same) {
      split_padding(auto_pad, same_padding(spatial[i]), i, w.pads);
    } else {
      w.ceil_excess[i] = ceil_excess(spatial[i], w.pads[i], w.pads[i + axes]);
    }
  }
  return w;
}

bool is_dilated(const Attrs& attrs) {
  return std::ranges::any_of(attrs.integers("dilations"), [](std::int64_t d) { return d != 1; });
}

std::vector<OnnxWriter::Attribute> padding_attributes(OnnxWriter& writer, const Integers& kernel) {
  const Attrs& attrs = writer.attrs();
  const std::vector<Index> pads = attrs.sizes("pads");
  if (std::ranges::all_of(pads, &Index::is_constant)) return {{"pads", attrs.integers("pads")}};
  const std::vector<Axis> spatial =
      axes_of(writer.input_type(0), kernel, attrs.integers("strides"), attrs.integers("dilations"));
  for (const auto& [auto_pad, name] : {std::pair(AutoPad::kSameUpper, "SAME_UPPER"),
                                       std::pair(AutoPad::kSameLower, "SAME_LOWER")}) {
    bool all = true;
    for (std::size_t i = 0; i < spatial.size(); ++i)
      all = all && is_same_padding(spatial[i], auto_pad, pads[i], pads[i + spatial.size()]);
    if (all) return {{"auto_pad", std::string(name)}};
  }
  Integers bare = attrs.as_written("pads");
  for (std::size_t i = 0; i < spatial.size(); ++i) {
    const auto after = bare_padding(spatial[i], pads[i], pads[i + spatial.size()]);
    if (after) bare[i + spatial.size()] = *after;
  }
  writer.needs_opset(10);
  return {{"pads", std::move(bare)}, {"ceil_mode", std::int64_t{1}}};
}

bool lacks_padding(std::span<const OnnxWriter::Attribute> attributes) {
  return std::ranges::any_of(attributes, [](const OnnxWriter::Attribute& attribute) {
    const auto* integers = std::get_if<Integers>(&attribute.value);
    return integers != nullptr && std::ranges::any_of(*integers, is_symbolic);
  });
}

base::Status write_conv(OnnxWriter& writer) {
  const Attrs& attrs = writer.attrs();
  Integers kernel;
  for (std::size_t axis = 2; axis < writer.input_type(1).dims.size(); ++axis) {
    const Index size = writer.input_type(1).dims[axis];
    if (!size.is_constant())
      return base::unsupported("a kernel of the open size " + to_string(size));
    kernel.push_back(size.constant());
  }
  std::vector<std::string> inputs = writer.inputs();
  std::vector<OnnxWriter::Attribute> attributes{{"pads", attrs.as_written("pads")}};
  if (lacks_padding(attributes)) {
    attributes = padding_attributes(writer, kernel);
    if (attributes.front().name == "pads") {
      const auto pads = attrs.as_written("pads");
      const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(kernel.size());
      Integers all{0, 0};
      all.insert(all.end(), pads.begin(), middle);
      all.insert(all.end(), {0, 0});
      all.insert(all.end(), middle, pads.end());
      writer.needs_opset(11);
      inputs[0] = writer.emit("Pad", {inputs[0], writer.constant_integers(all)});
      attributes = {{"pads", Integers(pads.size(), 0)}};
    }
  }
  attributes.insert(attributes.begin(), {{"dilations", attrs.integers("dilations")},
                                         {"group", attrs.integer("group")}});
  attributes.push_back({"strides", attrs.integers("strides")});
  writer.emit("Conv", std::move(inputs), std::move(attributes));
  return base::ok();
}

std::vector<OnnxWriter::Attribute> window_attributes(OnnxWriter& writer) {
  const Attrs& attrs = writer.attrs();
  std::vector<OnnxWriter::Attribute> result = padding_attributes(writer, attrs.integers("kernel"));
  result.insert(result.begin(), {"kernel_shape", attrs.integers("kernel")});
  result.push_back({"strides", attrs.integers("strides")});
  if (is_dilated(attrs)) result.push_back({"dilations", attrs.integers("dilations")});
  return result;
}

}  // namespace egret::ir
