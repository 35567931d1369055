// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "backends/codegen/lowering.h"
#include "backends/cuda/steps/axis_order.h"
#include "backends/cuda/steps/convolution.h"
#include "backends/cuda/steps/epilogue.h"

namespace egret::backends::cuda {
namespace {

using ir::Affine;
using ir::Integers;
using ir::LoopNest;
using ir::NestGuard;
using ir::NestNode;

constexpr std::int64_t kMostElements = INT32_MAX;

// Permutes per-axis values from storage order: axis i is at order[i].
template <typename Values>
Values ordered(const Values& stored, const Integers& order) {
  Values values(stored.size());
  for (std::size_t axis = 0; axis < order.size(); ++axis)
    values[axis] = stored[static_cast<std::size_t>(order[axis])];
  return values;
}

// The index of each stored output axis, as a form over the nest's variables. Flat offsets are split
// by the axes' strides.
std::vector<Affine> output_axes(const LoopNest& nest, const ir::Shape& shape) {
  const ir::Shape strides = ir::row_major_strides(shape);
  std::vector<Affine> axes(shape.size());
  // A variable belongs to the axis with stride <= factor < stride * size. An axis can hold several
  // variables, such as group and channel of a group.
  for (const auto& part : nest.output.parts) {
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (part.factor < strides[axis] || part.factor >= strides[axis] * shape[axis]) continue;
      axes[axis] = axes[axis] + Affine::of_symbol(part.symbol) * (part.factor / strides[axis]);
    }
  }
  return axes;
}

Convolution::Tensor tensor(int input, const ir::TensorType& type, const Integers& order) {
  const ir::Shape sizes = type.shape();
  const ir::Shape strides = ir::row_major_strides(sizes);
  const auto in_order = [&](const ir::Shape& of) {
    const std::vector<std::int64_t> values(of.begin(), of.end());
    return ordered(values, order);
  };
  return {input, in_order(sizes), in_order(strides), type.dtype};
}

// Matches one of two tensors as image and the other as filter. Each tensor may be row-major or
// channels-last, so all combinations are tried.
class Match {
 public:
  Match(const LoopNest& nest, const NestNode& sum, const ir::TensorType& output,
        std::span<const ir::TensorType> inputs)
      : nest_(nest),
        sum_(sum),
        output_(output),
        inputs_(inputs),
        stored_(output_axes(nest, output.shape())) {}

  std::optional<Convolution> of(const NestNode& image, const NestNode& filter) {
    const std::size_t rank = stored_.size();
    if (rank < 3 || rank > 5 || image.axes.size() != rank || filter.axes.size() != rank)
      return std::nullopt;
    const int axes = static_cast<int>(rank);
    const Integers orders[] = {axes_in_order(axes), channels_before(axes)};
    // At most 8 combinations of storage orders. The first match wins, and row-major comes first.
    for (const Integers& of_output : orders) {
      out_ = ordered(stored_, of_output);
      found_ = {};
      found_.output = tensor(-1, output_, of_output);
      for (const Integers& of_image : orders) {
        for (const Integers& of_filter : orders) {
          found_.image = tensor(image.input, type_of(image), of_image);
          found_.filter = tensor(filter.input, type_of(filter), of_filter);
          if (matches(ordered(image.axes, of_image), ordered(filter.axes, of_filter)))
            return found_;
        }
      }
    }
    return std::nullopt;
  }

  // Adds an addend: one element for each channel, or for each element of the output.
  bool add(Convolution& found, const NestNode& read) const {
    Convolution::Tensor added = found.output;
    added.input = read.input;
    added.type = type_of(read).dtype;
    const bool is_bias = read.form == out_[1];
    if (is_bias) {  // strides like one pixel of the output's channels
      const std::int64_t channels = added.sizes[1];
      std::ranges::fill(added.sizes, 1);
      added.sizes[1] = channels;
      std::ranges::fill(added.strides, channels);
      added.strides[1] = 1;
      if (found.output.strides[1] != 1)
        std::fill(added.strides.begin() + 2, added.strides.end(), 1);
    }
    found.added.push_back(std::move(added));
    return is_bias || read.form == nest_.output;
  }

 private:
  const ir::TensorType& type_of(const NestNode& read) const {
    return inputs_[static_cast<std::size_t>(read.input)];
  }

  // Whether the indices of image and filter are those of a convolution.
  bool matches(const std::vector<Affine>& image, const std::vector<Affine>& filter) {
    // A failed attempt may have filled these lists.
    for (auto* list : {&found_.strides, &found_.dilations, &found_.pads, &found_.pads_after})
      list->clear();
    if (image[0] != out_[0] || filter[0] != out_[1] || !reads_all_of(filter) ||
        found_.image.sizes[0] != found_.output.sizes[0] || !channels(image[1], filter[1]))
      return false;
    for (std::size_t axis = 2; axis < image.size(); ++axis) {
      if (!spatial(axis, image[axis], filter[axis])) return false;
    }
    return only_padding(sum_.guard, image);
  }

  // The number of values that a form without negative factors spans.
  std::int64_t range(const Affine& form) const {
    std::int64_t most = 0;
    for (const auto& part : form.parts) most += part.factor * (nest_.extent(part.symbol) - 1);
    return most + 1;
  }

  // The output's channels are the filter's, and the sum covers each other filter element once.
  bool reads_all_of(const std::vector<Affine>& filter) const {
    std::int64_t elements = 1, terms = 1;
    for (std::size_t axis = 0; axis < filter.size(); ++axis) {
      if (range(filter[axis]) != found_.filter.sizes[axis]) return false;
      if (axis > 0) elements *= found_.filter.sizes[axis];
    }
    for (const int variable : sum_.variables) terms *= nest_.extent(variable);
    return elements == terms && found_.filter.sizes[0] == found_.output.sizes[1];
  }

  // The filter reads channel c of its group, the image channel first + g*C + c for group g.
  bool channels(const Affine& image, const Affine& filter) {
    const std::int64_t group_size = found_.filter.sizes[1];
    found_.first_channel = image.constant;
    found_.stored_channels = found_.image.sizes[1];
    found_.image.sizes[1] = range(image);
    if (image.constant < 0 || found_.image.sizes[1] % group_size != 0) return false;
    found_.groups = static_cast<int>(found_.image.sizes[1] / group_size);
    if (found_.filter.sizes[0] % found_.groups != 0) return false;
    const std::int64_t outputs_of_group = found_.filter.sizes[0] / found_.groups;
    // Output channel = group * outputs_of_group + o, so the group consists of the parts whose
    // factor is a multiple of outputs_of_group.
    Affine group;  // the digit of the output's channel that says which group
    for (const auto& part : out_[1].parts) {
      if (part.factor % outputs_of_group == 0)
        group = group + Affine::of_symbol(part.symbol) * (part.factor / outputs_of_group);
    }
    if (found_.groups == 1) group = Affine();
    return image - filter == group * group_size + Affine(found_.first_channel) &&
           reduced_only(filter);
  }

  bool reduced_only(const Affine& form) const {
    return form.constant == 0 && std::ranges::all_of(form.parts, [&](const auto& part) {
             return std::ranges::find(sum_.variables, part.symbol) != sum_.variables.end();
           });
  }

  // image = stride * output + dilation * filter - pad
  bool spatial(std::size_t axis, const Affine& image, const Affine& filter) {
    const Affine& output = out_[axis];
    if (!reduced_only(filter) || filter.parts.size() > 1 || output.parts.size() > 1) return false;
    const auto factor = [&](const Affine& of) {
      return of.parts.empty() ? std::int64_t{1} : image.factor(of.parts[0].symbol);
    };
    const std::int64_t stride = factor(output), dilation = factor(filter), pad = -image.constant;
    if (image != output * stride + filter * dilation - Affine(pad) || stride < 1 || dilation < 1 ||
        pad < 0)
      return false;
    // The distance of the last window's end from the image's end.
    const std::int64_t reach = dilation * (found_.filter.sizes[axis] - 1) + 1;
    const std::int64_t last = (found_.output.sizes[axis] - 1) * stride + reach - pad;
    found_.strides.push_back(stride);
    found_.dilations.push_back(dilation);
    found_.pads.push_back(pad);
    // Equal padding on both sides where that yields the same number of outputs: more engines take
    // it.
    const std::int64_t room = found_.image.sizes[axis] + 2 * pad - reach;
    const bool even = room >= 0 && room / stride + 1 == found_.output.sizes[axis];
    const std::int64_t after =
        even ? pad : std::max<std::int64_t>(last - found_.image.sizes[axis], 0);
    found_.pads_after.push_back(after);
    const std::int64_t whole = found_.image.sizes[axis] + pad + after - reach;
    return whole >= 0 && whole / stride + 1 == found_.output.sizes[axis];
  }

  // Whether the guard only keeps reads inside the image, as zero padding does.
  bool only_padding(int id, const std::vector<Affine>& image) const {
    const NestGuard& guard = nest_.guard(id);
    if (guard.kind == NestGuard::Kind::kTrue) return true;
    if (guard.kind == NestGuard::Kind::kAnd)
      return only_padding(guard.a, image) && only_padding(guard.b, image);
    if (guard.kind != NestGuard::Kind::kLe) return false;
    for (std::size_t axis = 2; axis < image.size(); ++axis) {
      // The two halves of 0 <= index < size, written as form <= 0.
      if (guard.form == image[axis] * -1 ||
          guard.form == image[axis] - Affine(found_.image.sizes[axis] - 1))
        return true;
    }
    return false;
  }

  const LoopNest& nest_;
  const NestNode& sum_;
  const ir::TensorType& output_;
  std::span<const ir::TensorType> inputs_;
  const std::vector<Affine> stored_;  // indices of the output's axes as they are stored
  std::vector<Affine> out_;           // of N, O and the spatial axes
  Convolution found_;
};

// Appends a spatial axis of size 1: cuDNN needs at least two.
void add_flat_axis(Convolution& convolution) {
  std::vector<Convolution::Tensor*> tensors{&convolution.image, &convolution.filter,
                                            &convolution.output};
  for (Convolution::Tensor& added : convolution.added) tensors.push_back(&added);
  for (Convolution::Tensor* tensor : tensors) {
    tensor->sizes.push_back(1);
    tensor->strides.push_back(tensor->strides.back());
  }
  for (auto* list : {&convolution.strides, &convolution.dilations}) list->push_back(1);
  for (auto* list : {&convolution.pads, &convolution.pads_after}) list->push_back(0);
}

// Image and filter are of one type; all else is of that type too, or of f32.
bool types_agree(const Convolution& c) {
  const ir::DType type = c.image.type, output = c.output.type;
  return c.filter.type == type &&
         (output == type || (output == ir::DType::kF32 && type != ir::DType::kF64)) &&
         std::ranges::all_of(c.added, [&](const auto& added) { return added.type == output; });
}

bool take(const Epilogue& epilogue, const Match& match, Convolution& found) {
  found.scale = epilogue.scale;
  found.relu = epilogue.relu;
  found.most = epilogue.most;
  for (auto read = epilogue.added.rbegin(); read != epilogue.added.rend(); ++read) {
    if (!match.add(found, **read)) return false;
  }
  // Addends of the output's size come first, then biases.
  std::ranges::stable_partition(
      found.added, [&](const auto& added) { return added.sizes == found.output.sizes; });
  return true;
}

bool take(const Tail& tail, const Match& match, Convolution& found) {
  found.tail = tail.operations;
  return found.image.type != ir::DType::kF64 &&
         std::ranges::all_of(tail.read,
                             [&](const NestNode* read) { return match.add(found, *read); });
}

}  // namespace

// Recognizes a convolution by its loop nest, whatever operators it came from: a sum of products of
// two reads, with an epilogue or tail of pointwise operations around it.
std::optional<Convolution> find_convolution(const StepDefinition& definition, bool tails) {
  const auto& [denotation, inputs, constants, part] = definition;
  const auto fits = [](const ir::TensorType& of) {
    return ir::is_float(of.dtype) && of.elements() > 0 && of.elements() <= kMostElements;
  };
  if (inputs.size() < 2 || inputs.size() > kMostInputs || !fits(denotation.type) ||
      !std::ranges::all_of(inputs, fits))
    return std::nullopt;
  const auto nest = codegen::lowered(denotation, inputs, ir::Precision::kF64);
  if (!nest.ok()) return std::nullopt;
  const auto epilogue = find_epilogue(*nest, constants);
  const auto tail = epilogue || !tails ? std::nullopt : find_tail(*nest, constants);
  if (!epilogue && !tail) return std::nullopt;
  const NestNode& sum = nest->node(epilogue ? epilogue->sum : tail->sum);
  const NestNode& product = nest->node(sum.kids[0]);
  if (product.op != ir::ExprOp::kMul) return std::nullopt;
  const NestNode& a = nest->node(product.kids[0]);
  const NestNode& b = nest->node(product.kids[1]);
  if (a.op != ir::ExprOp::kRead || b.op != ir::ExprOp::kRead) return std::nullopt;
  Match match(*nest, sum, denotation.type, inputs);
  auto found = match.of(a, b);
  if (!found) found = match.of(b, a);
  if (!found) return std::nullopt;
  if (!(epilogue ? take(*epilogue, match, *found) : take(*tail, match, *found)))
    return std::nullopt;
  if (!types_agree(*found)) return std::nullopt;
  if (found->strides.size() == 1) add_flat_axis(*found);
  return found;
}

bool put(Convolution& convolution, const OutputPart& part) {
  std::vector<std::int64_t*> strides;
  for (std::int64_t& stride : convolution.output.strides) strides.push_back(&stride);
  return part.put(convolution.output.sizes, strides);
}

}  // namespace egret::backends::cuda
