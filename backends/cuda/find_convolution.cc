// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "backends/codegen/lowering.h"
#include "backends/cuda/convolution.h"
#include "backends/cuda/epilogue.h"

namespace egret::backends::cuda {
namespace {

using ir::Affine;
using ir::LoopNest;
using ir::NestGuard;
using ir::NestNode;

constexpr std::int64_t kMostElements = INT32_MAX;

// The index of each output axis, as a form over the nest's variables.
std::vector<Affine> output_axes(const LoopNest& nest, const ir::Shape& shape) {
  const ir::Shape strides = ir::row_major_strides(shape);
  std::vector<Affine> axes(shape.size());
  for (const auto& part : nest.output.parts) {
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (part.factor < strides[axis] || part.factor >= strides[axis] * shape[axis]) continue;
      axes[axis] = axes[axis] + Affine::of_symbol(part.symbol) * (part.factor / strides[axis]);
    }
  }
  return axes;
}

// One of two tensors as the image, the other as the filter.
class Match {
 public:
  Match(const LoopNest& nest, const NestNode& sum, const ir::Shape& output,
        std::span<const ir::TensorType> inputs)
      : nest_(nest), sum_(sum), output_(output), inputs_(inputs), out_(output_axes(nest, output)) {}

  std::optional<Convolution> of(const NestNode& image, const NestNode& filter) {
    const std::size_t rank = output_.size();
    if (rank < 3 || rank > 5 || image.axes.size() != rank || filter.axes.size() != rank)
      return std::nullopt;
    found_ = {};
    found_.image = image.input;
    found_.filter = filter.input;
    found_.image_sizes = sizes(inputs_[static_cast<std::size_t>(image.input)].shape());
    found_.filter_sizes = sizes(inputs_[static_cast<std::size_t>(filter.input)].shape());
    found_.output_sizes = sizes(output_);
    if (image.axes[0] != out_[0] || filter.axes[0] != out_[1] ||
        !channels(image.axes[1], filter.axes[1]))
      return std::nullopt;
    for (std::size_t axis = 2; axis < rank; ++axis) {
      if (!spatial(axis, image.axes[axis], filter.axes[axis])) return std::nullopt;
    }
    if (!only_padding(sum_.guard, image.axes)) return std::nullopt;
    return found_;
  }

  // What is added to it: an element for each channel, or for each of the output's.
  bool add(Convolution& found, const NestNode& read) const {
    const bool is_bias = read.form == out_[1];
    found.added.push_back({read.input, is_bias});
    return is_bias || read.form == nest_.output;
  }

 private:
  static std::vector<std::int64_t> sizes(const ir::Shape& shape) {
    return {shape.begin(), shape.end()};
  }

  // The filter reads channel c of its group, the image channel g*C + c.
  bool channels(const Affine& image, const Affine& filter) {
    const std::int64_t group_size = found_.filter_sizes[1];
    if (found_.image_sizes[1] % group_size != 0) return false;
    found_.groups = static_cast<int>(found_.image_sizes[1] / group_size);
    if (found_.filter_sizes[0] % found_.groups != 0) return false;
    const std::int64_t outputs_of_group = found_.filter_sizes[0] / found_.groups;
    Affine group;  // the digit of the output's channel that says which group
    for (const auto& part : out_[1].parts) {
      if (part.factor % outputs_of_group == 0)
        group = group + Affine::of_symbol(part.symbol) * (part.factor / outputs_of_group);
    }
    if (found_.groups == 1) group = Affine();
    return image - filter == group * group_size && reduced_only(filter);
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
    // The last output's window ends so far behind the image, or before its end.
    const std::int64_t reach = dilation * (found_.filter_sizes[axis] - 1) + 1;
    const std::int64_t last = (found_.output_sizes[axis] - 1) * stride + reach - pad;
    found_.strides.push_back(stride);
    found_.dilations.push_back(dilation);
    found_.pads.push_back(pad);
    // The same on both sides where that gives as many outputs.
    const std::int64_t room = found_.image_sizes[axis] + 2 * pad - reach;
    const bool even = room >= 0 && room / stride + 1 == found_.output_sizes[axis];
    const std::int64_t after =
        even ? pad : std::max<std::int64_t>(last - found_.image_sizes[axis], 0);
    found_.pads_after.push_back(after);
    const std::int64_t whole = found_.image_sizes[axis] + pad + after - reach;
    return whole >= 0 && whole / stride + 1 == found_.output_sizes[axis];
  }

  // The guard says that the image is read inside its borders, and nothing else.
  bool only_padding(int id, const std::vector<Affine>& image) const {
    const NestGuard& guard = nest_.guard(id);
    if (guard.kind == NestGuard::Kind::kTrue) return true;
    if (guard.kind == NestGuard::Kind::kAnd)
      return only_padding(guard.a, image) && only_padding(guard.b, image);
    if (guard.kind != NestGuard::Kind::kLe) return false;
    for (std::size_t axis = 2; axis < image.size(); ++axis) {
      if (guard.form == image[axis] * -1 ||
          guard.form == image[axis] - Affine(found_.image_sizes[axis] - 1))
        return true;
    }
    return false;
  }

  const LoopNest& nest_;
  const NestNode& sum_;
  const ir::Shape& output_;
  std::span<const ir::TensorType> inputs_;
  std::vector<Affine> out_;
  Convolution found_;
};

void add_flat_axis(Convolution& convolution) {
  for (auto* list : {&convolution.image_sizes, &convolution.filter_sizes, &convolution.output_sizes,
                     &convolution.strides, &convolution.dilations})
    list->push_back(1);
  convolution.pads.push_back(0);
  convolution.pads_after.push_back(0);
}

}  // namespace

std::optional<Convolution> find_convolution(const StepDefinition& definition) {
  const auto& [denotation, inputs, constants] = definition;
  const ir::DType type = denotation.type.dtype;
  const auto fits = [&](const ir::TensorType& of) {
    return of.dtype == type && of.elements() > 0 && of.elements() <= kMostElements;
  };
  if (!ir::is_float(type) || inputs.size() < 2 || inputs.size() > 6 || !fits(denotation.type) ||
      !std::ranges::all_of(inputs, fits))
    return std::nullopt;
  const auto nest = codegen::lowered(denotation, inputs, ir::Precision::kF64);
  if (!nest.ok()) return std::nullopt;
  const auto epilogue = find_epilogue(*nest, constants);
  if (!epilogue) return std::nullopt;
  const NestNode& sum = nest->node(epilogue->sum);
  const NestNode& product = nest->node(sum.kids[0]);
  if (product.op != ir::ExprOp::kMul) return std::nullopt;
  const NestNode& a = nest->node(product.kids[0]);
  const NestNode& b = nest->node(product.kids[1]);
  if (a.op != ir::ExprOp::kRead || b.op != ir::ExprOp::kRead) return std::nullopt;
  const ir::Shape shape = denotation.type.shape();
  Match match(*nest, sum, shape, inputs);
  auto found = match.of(a, b);
  if (!found) found = match.of(b, a);
  if (!found) return std::nullopt;
  found->type = type;
  found->scale = epilogue->scale;
  found->relu = epilogue->relu;
  for (auto read = epilogue->added.rbegin(); read != epilogue->added.rend(); ++read) {
    if (!match.add(*found, **read)) return std::nullopt;
  }
  if (found->strides.size() == 1) add_flat_axis(*found);
  return found;
}

}  // namespace egret::backends::cuda
