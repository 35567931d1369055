// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/convolution.h"

#include <algorithm>
#include <map>
#include <utility>

namespace egret::backends::cuda {
namespace {

constexpr std::int64_t kOutputId = 1000, kFirstVirtualId = 2000;
constexpr std::size_t kMostPlans = 6;

std::vector<std::int64_t> row_major(const std::vector<std::int64_t>& sizes) {
  std::vector<std::int64_t> strides(sizes.size(), 1);
  for (std::size_t i = sizes.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * sizes[i + 1];
  return strides;
}

ir::DType compute_type_of(ir::DType type) {
  return type == ir::DType::kF64 ? ir::DType::kF64 : ir::DType::kF32;
}

// Writes the operations one after the other: each but the last leaves a virtual tensor.
class Describer {
 public:
  Describer(const Convolution& convolution, DnnOperations& operations)
      : c_(convolution), operations_(operations), compute_(compute_type_of(convolution.type)) {}

  std::vector<std::int64_t> write() {
    left_ = 1 + c_.added.size() + (c_.relu ? 1 : 0);
    DnnBackend value = next_output();
    operations_.convolution(input(c_.image, c_.image_sizes), input(c_.filter, c_.filter_sizes),
                            value, {c_.strides, c_.dilations, c_.pads, c_.pads_after}, c_.scale,
                            compute_);
    for (const Convolution::Added& added : c_.added) {
      std::vector<std::int64_t> sizes = c_.output_sizes;
      if (added.is_bias) {
        std::ranges::fill(sizes, 1);
        sizes[1] = c_.output_sizes[1];
      }
      DnnBackend sum = next_output();
      operations_.add(value, input(added.input, sizes), sum, compute_);
      value = sum;
    }
    if (c_.relu) operations_.relu(value, next_output(), compute_);
    ids_.push_back(kOutputId);
    return ids_;
  }

 private:
  // An input that is read twice is described once.
  DnnBackend input(int number, const std::vector<std::int64_t>& sizes) {
    const auto place = static_cast<std::size_t>(number);
    if (ids_.size() <= place) ids_.resize(place + 1, 0);
    ids_[place] = number + 1;
    DnnBackend& known = inputs_[{number, sizes}];
    if (known == nullptr)
      known = operations_.tensor({number + 1, sizes, row_major(sizes), c_.type, false});
    return known;
  }

  DnnBackend next_output() {
    const bool last = --left_ == 0;
    return operations_.tensor(
        {last ? kOutputId : kFirstVirtualId + static_cast<std::int64_t>(left_), c_.output_sizes,
         row_major(c_.output_sizes), last ? c_.type : compute_, !last});
  }

  const Convolution& c_;
  DnnOperations& operations_;
  const ir::DType compute_;
  std::size_t left_ = 0;
  std::vector<std::int64_t> ids_;
  std::map<std::pair<int, std::vector<std::int64_t>>, DnnBackend> inputs_;
};

class ConvolutionStep : public LibraryStep {
 public:
  ConvolutionStep(const DnnFunctions& dnn, DnnHandle handle)
      : dnn_(dnn), handle_(handle), operations_(dnn) {}

  const char* library() const override { return "cuDNN"; }
  int candidates() const override { return static_cast<int>(plans_.size()); }
  void choose(int candidate) override { chosen_ = static_cast<std::size_t>(candidate); }

  // False where cuDNN refuses.
  bool prepare(const Convolution& convolution, Precision precision) {
    ids_ = describe(convolution, operations_);
    plans_ =
        operations_.plans({.handle = handle_}, convolution.type, precision, kWorkspace, kMostPlans);
    return !plans_.empty();
  }

  base::Status enqueue(std::span<const DevicePointer> inputs, DevicePointer output,
                       DevicePointer workspace, Stream stream) const override {
    if (dnn_.set_stream(handle_, stream) != 0)
      return base::unavailable("cuDNN takes no other stream");
    const auto at = [](DevicePointer pointer) { return reinterpret_cast<void*>(pointer); };
    std::vector<std::int64_t> ids;
    std::vector<void*> pointers;
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      if (ids_[i] == 0) continue;
      ids.push_back(ids_[i]);
      pointers.push_back(at(i + 1 < ids_.size() ? inputs[i] : output));
    }
    return run_dnn_plan(dnn_, handle_, plans_[chosen_].plan, ids, pointers, at(workspace));
  }

 private:
  const DnnFunctions& dnn_;
  DnnHandle handle_;
  DnnOperations operations_;
  std::vector<std::int64_t> ids_;
  std::vector<DnnOperations::Plan> plans_;
  std::size_t chosen_ = 0;
};

}  // namespace

std::vector<std::int64_t> describe(const Convolution& convolution, DnnOperations& operations) {
  return Describer(convolution, operations).write();
}

std::unique_ptr<LibraryStep> make_convolution_step(const DnnFunctions& dnn, DnnHandle handle,
                                                   const Convolution& convolution,
                                                   Precision precision) {
  auto step = std::make_unique<ConvolutionStep>(dnn, handle);
  if (!step->prepare(convolution, precision)) return nullptr;
  return step;
}

}  // namespace egret::backends::cuda
