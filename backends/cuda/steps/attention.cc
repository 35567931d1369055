// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/steps/attention.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "backends/cuda/steps/attention_check.h"

namespace egret::backends::cuda {
namespace {

constexpr std::int64_t kOutputId = 1000, kScaleId = 1001, kFirstVirtualId = 2000;
constexpr ir::DType kCompute = ir::DType::kF32;

using Sizes = std::array<std::int64_t, 4>;

std::vector<std::int64_t> listed(const Sizes& values) { return {values.begin(), values.end()}; }

// Describes attention to cuDNN in one of two forms: as one operation, or as the products,
// reductions and pointwise operations of which it consists, which also take a mask.
class Describer {
 public:
  Describer(const Attention& attention, DnnOperations& operations)
      : a_(attention), operations_(operations) {}

  DnnArguments whole() {
    operations_.attention(outside(a_.q), outside(a_.k), outside(a_.v), scale(a_.scale),
                          outside(a_.output));
    arguments_.output = kOutputId;
    return arguments_;
  }

  DnnArguments parts() {
    const Sizes sizes = a_.score_sizes();
    // The softmax written out: maximum, difference, exponential, sum and quotient. Only the weights
    // are rounded to the narrow type, for the second product.
    Sizes row = sizes;
    row[3] = 1;
    DnnBackend scores = between(sizes, kCompute);
    // The product takes k transposed: k with two axes exchanged. No element moves.
    Attention::Tensor turned = a_.k;
    std::swap(turned.sizes[2], turned.sizes[3]);
    std::swap(turned.strides[2], turned.strides[3]);
    operations_.product(outside(a_.q), outside(turned), scores, kCompute);
    // Engines that take a factor by value take it as a divisor.
    if (a_.scale != 1) scores = combined(kDnnDivide, scores, scale(1 / a_.scale), sizes);
    if (a_.mask) scores = combined(kDnnAdd, scores, outside(*a_.mask), sizes);
    DnnBackend largest = between(row, kCompute);
    operations_.reduce(kDnnReduceMax, scores, largest, kCompute);
    scores = combined(kDnnSubtract, scores, largest, sizes);
    scores = combined(kDnnExponential, scores, nullptr, sizes);
    DnnBackend sum = between(row, kCompute);
    operations_.reduce(kDnnReduceSum, scores, sum, kCompute);
    DnnBackend weights = between(sizes, a_.type);
    operations_.pointwise(kDnnDivide, scores, sum, weights, kCompute);
    operations_.product(weights, outside(a_.v), outside(a_.output), kCompute);
    arguments_.output = kOutputId;
    return arguments_;
  }

 private:
  // A tensor in memory: the output, or an input, which gets the next number.
  DnnBackend outside(const Attention::Tensor& tensor) {
    std::int64_t id = kOutputId;
    const std::int64_t offset = tensor.offset * static_cast<std::int64_t>(byte_size(a_.type));
    if (tensor.input >= 0) {
      id = static_cast<std::int64_t>(arguments_.inputs.size()) + 1;
      arguments_.inputs.push_back({id, tensor.input, offset});
    }
    return operations_.tensor({.id = id,
                               .sizes = listed(tensor.sizes),
                               .strides = listed(tensor.strides),
                               .type = a_.type,
                               .alignment = std::gcd(kDnnAlignment, offset)});
  }

  // A virtual tensor: an intermediate value that stays inside the engine.
  DnnBackend between(const Sizes& sizes, ir::DType type) {
    const Sizes strides{sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1};
    return operations_.tensor({.id = kFirstVirtualId + virtuals_++,
                               .sizes = listed(sizes),
                               .strides = listed(strides),
                               .type = type,
                               .is_virtual = true});
  }

  DnnBackend combined(int mode, DnnBackend a, DnnBackend b, const Sizes& sizes) {
    DnnBackend made = between(sizes, kCompute);
    operations_.pointwise(mode, a, b, made, kCompute);
    return made;
  }

  DnnBackend scale(double value) {
    arguments_.scalars = {{kScaleId, static_cast<float>(value)}};
    return operations_.tensor({.id = kScaleId,
                               .sizes = {1, 1, 1, 1},
                               .strides = {1, 1, 1, 1},
                               .type = kCompute,
                               .is_by_value = true,
                               .alignment = 4});
  }

  const Attention& a_;
  DnnOperations& operations_;
  DnnArguments arguments_;
  std::int64_t virtuals_ = 0;
};

}  // namespace

DnnArguments describe(const Attention& attention, AttentionForm form, DnnOperations& operations) {
  Describer describer(attention, operations);
  return form == AttentionForm::kWhole ? describer.whole() : describer.parts();
}

std::unique_ptr<LibraryStep> make_attention_step(Dnn& dnn, const Attention& attention) {
  for (const AttentionForm form : {AttentionForm::kWhole, AttentionForm::kParts}) {
    if (form == AttentionForm::kWhole && attention.mask) continue;
    const auto trial = [attention](const Device& device, const LibraryStep& step,
                                   const TrialMemory& memory) {
      return computes_attention(device, attention, step, memory);
    };
    auto step = DnnStep::make(dnn, {.name = "attention", .trial = trial}, attention.type,
                              [&](DnnOperations& into) { return describe(attention, form, into); });
    if (step != nullptr) return step;
  }
  return nullptr;
}

}  // namespace egret::backends::cuda
