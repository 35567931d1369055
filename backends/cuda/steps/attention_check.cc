// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/steps/attention_check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/random.h"

namespace egret::backends::cuda {
namespace {

using Position = std::array<std::int64_t, 4>;

// Of numbers up to 1, whose weights add up to 1 and are rounded to bf16, as is the result.
constexpr double kTolerance = 0.03;
constexpr std::int64_t kPlaces = 3;  // looked at along each of batch, heads and rows

std::int64_t place_of(const Attention::Tensor& tensor, const Position& position) {
  std::int64_t place = tensor.offset;
  for (std::size_t axis = 0; axis < 4; ++axis)
    place += (tensor.sizes[axis] == 1 ? 0 : position[axis]) * tensor.strides[axis];
  return place;
}

// Elements from the beginning of the value to the last one of the tensor.
std::int64_t extent_of(const Attention::Tensor& tensor) {
  const Position& sizes = tensor.sizes;
  return place_of(tensor, {sizes[0] - 1, sizes[1] - 1, sizes[2] - 1, sizes[3] - 1}) + 1;
}

// The first, the last and some between.
std::set<std::int64_t> places(std::int64_t size) {
  std::set<std::int64_t> made;
  for (std::int64_t i = 0; i < kPlaces; ++i) made.insert((size - 1) * i / (kPlaces - 1));
  return made;
}

// Attention in f64, for single rows of the result.
class Reference {
 public:
  Reference(const Attention& attention, const std::map<int, ir::Tensor>& values)
      : a_(attention), values_(values) {}

  // Of the row's elements.
  std::vector<double> row(const Position& of) const {
    const auto& [b, h, i, unused] = of;
    const std::int64_t columns = a_.k.sizes[2], depth = a_.k.sizes[3];
    std::vector<double> weights(static_cast<std::size_t>(columns));
    for (std::int64_t t = 0; t < columns; ++t) {
      double score = 0;
      for (std::int64_t d = 0; d < depth; ++d)
        score += at(a_.q, {b, h, i, d}) * at(a_.k, {b, h, t, d});
      weights[static_cast<std::size_t>(t)] =
          a_.scale * score + (a_.mask ? at(*a_.mask, {b, h, i, t}) : 0);
    }
    const double most = *std::ranges::max_element(weights);
    double sum = 0;
    for (double& weight : weights) sum += weight = std::exp(weight - most);
    std::vector<double> result(static_cast<std::size_t>(a_.v.sizes[3]));
    for (std::int64_t t = 0; t < columns; ++t) {
      for (std::size_t e = 0; e < result.size(); ++e)
        result[e] += weights[static_cast<std::size_t>(t)] / sum *
                     at(a_.v, {b, h, t, static_cast<std::int64_t>(e)});
    }
    return result;
  }

 private:
  double at(const Attention::Tensor& tensor, const Position& position) const {
    return values_.at(tensor.input).f64_at(place_of(tensor, position));
  }

  const Attention& a_;
  const std::map<int, ir::Tensor>& values_;
};

// What the step is to read, by input: random numbers, which are written there, or what is there.
base::Result<std::map<int, ir::Tensor>> given(const Device& device, const Attention& a,
                                              const TrialMemory& memory) {
  std::map<int, std::int64_t> extents;
  std::vector<const Attention::Tensor*> read{&a.q, &a.k, &a.v};
  if (a.mask) read.push_back(&*a.mask);
  for (const Attention::Tensor* tensor : read)
    extents[tensor->input] = std::max(extents[tensor->input], extent_of(*tensor));
  std::map<int, ir::Tensor> values;
  base::Random random(1);
  for (const auto& [input, extent] : extents) {
    const auto index = static_cast<std::size_t>(input);
    const ir::TensorType type(a.type, ir::Shape{extent});
    ir::Tensor value = ir::Tensor::random(type, random);
    const auto bytes = static_cast<std::size_t>(value.bytes());
    if (memory.fixed[index]) {
      EGRET_RETURN_IF_ERROR(
          device.copy_out(value.mutable_data().data(), memory.inputs[index], bytes));
    } else {
      EGRET_RETURN_IF_ERROR(device.copy_in(memory.inputs[index], value.data().data(), bytes));
    }
    values.emplace(input, std::move(value));
  }
  EGRET_RETURN_IF_ERROR(device.wait());
  return values;
}

}  // namespace

// Runs the step once on random inputs and compares some rows with the reference: the first, the
// last and one between along each of batch, heads and rows.
base::Result<bool> computes_attention(const Device& device, const Attention& a,
                                      const LibraryStep& step, const TrialMemory& memory) {
  // Fixed memory holds values of unknown magnitude, for which the tolerance has no meaning.
  for (const Attention::Tensor* tensor : {&a.q, &a.k, &a.v}) {
    if (memory.fixed[static_cast<std::size_t>(tensor->input)]) return false;
  }
  EGRET_ASSIGN_OR_RETURN(const auto values, given(device, a, memory));
  if (!step.enqueue(memory.inputs, memory.output, memory.workspace, device.stream()).ok())
    return false;
  ir::Tensor output = ir::Tensor::unfilled({a.type, ir::Shape{extent_of(a.output)}});
  EGRET_RETURN_IF_ERROR(device.copy_out(output.mutable_data().data(), memory.output,
                                        static_cast<std::size_t>(output.bytes())));
  EGRET_RETURN_IF_ERROR(device.wait());
  const Reference reference(a, values);
  for (const std::int64_t b : places(a.output.sizes[0])) {
    for (const std::int64_t h : places(a.output.sizes[1])) {
      for (const std::int64_t i : places(a.output.sizes[2])) {
        const std::vector<double> row = reference.row({b, h, i, 0});
        for (std::size_t e = 0; e < row.size(); ++e) {
          const double got =
              output.f64_at(place_of(a.output, {b, h, i, static_cast<std::int64_t>(e)}));
          // The negated comparison also rejects NaN.
          if (!(std::abs(got - row[e]) <= kTolerance)) return false;
        }
      }
    }
  }
  return true;
}

}  // namespace egret::backends::cuda
