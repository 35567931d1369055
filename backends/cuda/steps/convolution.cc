// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/steps/convolution.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace egret::backends::cuda {
namespace {

constexpr std::int64_t kOutputId = 1000, kFirstVirtualId = 2000;

ir::DType compute_type_of(ir::DType type) {
  return type == ir::DType::kF64 ? ir::DType::kF64 : ir::DType::kF32;
}

// Writes the operations one after the other: each but the last leaves a virtual tensor.
class Describer {
 public:
  Describer(const Convolution& convolution, DnnOperations& operations)
      : c_(convolution),
        operations_(operations),
        compute_(compute_type_of(convolution.image.type)) {}

  DnnArguments write() {
    // The operations are counted first, because the last one writes the output and each other one a
    // virtual tensor.
    left_ = 1 + (c_.tail.empty() ? c_.added.size() + (c_.relu ? 1 : 0) : c_.tail.size());
    DnnBackend value = next_output();
    operations_.convolution(image(), input(c_.filter), value,
                            {c_.strides, c_.dilations, c_.pads, c_.pads_after}, c_.scale, compute_);
    arguments_.output = kOutputId;
    if (!c_.tail.empty()) {
      write_tail(value);
      return arguments_;
    }
    for (const Convolution::Tensor& added : c_.added) {
      DnnBackend sum = next_output();
      operations_.pointwise(kDnnAdd, value, input(added), sum, compute_);
      value = sum;
    }
    if (c_.relu) operations_.relu(value, next_output(), c_.most, compute_);
    return arguments_;
  }

 private:
  void write_tail(DnnBackend sum) {
    const TailTensors tensors{.rank = c_.output.sizes.size(),
                              .sum = sum,
                              .output = output(kOutputId, c_.output.type),
                              .input = [&](std::size_t i) { return added(c_.added[i]); },
                              .between = [&] { return next_output(); }};
    describe(c_.tail, tensors, operations_, arguments_);
  }

  // What a tail reads twice is described once.
  DnnBackend added(const Convolution::Tensor& tensor) {
    DnnBackend& known = added_[{tensor.input, tensor.sizes}];
    if (known == nullptr) known = input(tensor);
    return known;
  }

  DnnBackend image() {
    const ir::DType type = c_.image.type;
    return input(c_.image, c_.first_channel * c_.image.strides[1] *
                               static_cast<std::int64_t>(byte_size(type)));
  }

  DnnBackend input(const Convolution::Tensor& tensor, std::int64_t offset = 0) {
    const auto id = static_cast<std::int64_t>(arguments_.inputs.size()) + 1;
    arguments_.inputs.push_back({id, tensor.input, offset});
    return operations_.tensor({.id = id,
                               .sizes = tensor.sizes,
                               .strides = tensor.strides,
                               .type = tensor.type,
                               .alignment = std::gcd(kDnnAlignment, offset)});
  }

  DnnBackend next_output() {
    const bool last = --left_ == 0;
    if (last) return output(kOutputId, c_.output.type);
    return output(kFirstVirtualId + static_cast<std::int64_t>(left_), compute_);
  }
  DnnBackend output(std::int64_t id, ir::DType type) {
    return operations_.tensor({.id = id,
                               .sizes = c_.output.sizes,
                               .strides = c_.output.strides,
                               .type = type,
                               .is_virtual = id != kOutputId});
  }

  const Convolution& c_;
  DnnOperations& operations_;
  const ir::DType compute_;
  std::size_t left_ = 0;
  DnnArguments arguments_;
  std::map<std::pair<int, std::vector<std::int64_t>>, DnnBackend> added_;
};

}  // namespace

DnnArguments describe(const Convolution& convolution, DnnOperations& operations) {
  return Describer(convolution, operations).write();
}

std::unique_ptr<LibraryStep> make_convolution_step(Dnn& dnn, const Convolution& convolution) {
  const DnnStep::Kind kind{.name = "convolution",
                           .prefers_channels_last = true,
                           .contested = {!convolution.tail.empty(), convolution.is_depthwise()}};
  return DnnStep::make(dnn, kind, convolution.image.type,
                       [&](DnnOperations& into) { return describe(convolution, into); });
}

}  // namespace egret::backends::cuda
