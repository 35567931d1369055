// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/convolution.h"

#include <algorithm>
#include <map>
#include <utility>

namespace egret::backends::cuda {
namespace {

constexpr std::int64_t kOutputId = 1000, kFirstVirtualId = 2000;
constexpr std::size_t kMostPlans = 6;

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

  std::vector<std::int64_t> write() {
    left_ = 1 + c_.added.size() + (c_.relu ? 1 : 0);
    DnnBackend value = next_output();
    operations_.convolution(input(c_.image), input(c_.filter), value,
                            {c_.strides, c_.dilations, c_.pads, c_.pads_after}, c_.scale, compute_);
    for (const Convolution::Tensor& added : c_.added) {
      DnnBackend sum = next_output();
      operations_.add(value, input(added), sum, compute_);
      value = sum;
    }
    if (c_.relu) operations_.relu(value, next_output(), c_.most, compute_);
    ids_.push_back(kOutputId);
    return ids_;
  }

 private:
  // An input that is read twice is described once.
  DnnBackend input(const Convolution::Tensor& tensor) {
    const auto place = static_cast<std::size_t>(tensor.input);
    if (ids_.size() <= place) ids_.resize(place + 1, 0);
    ids_[place] = tensor.input + 1;
    DnnBackend& known = inputs_[{tensor.input, tensor.sizes}];
    if (known == nullptr)
      known =
          operations_.tensor({tensor.input + 1, tensor.sizes, tensor.strides, tensor.type, false});
    return known;
  }

  DnnBackend next_output() {
    const bool last = --left_ == 0;
    return operations_.tensor(
        {last ? kOutputId : kFirstVirtualId + static_cast<std::int64_t>(left_), c_.output.sizes,
         c_.output.strides, last ? c_.output.type : compute_, !last});
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
  const char* name() const override { return "convolution"; }
  bool prefers_channels_last() const override { return true; }
  int candidates() const override { return static_cast<int>(plans_.size()); }
  void choose(int candidate) override { chosen_ = static_cast<std::size_t>(candidate); }

  std::size_t workspace() const override {
    std::size_t most = 0;
    for (const DnnOperations::Plan& plan : plans_) most = std::max(most, plan.workspace);
    return most;
  }

  // False where cuDNN refuses.
  bool prepare(const Convolution& convolution, Precision precision) {
    ids_ = describe(convolution, operations_);
    plans_ = operations_.plans({.handle = handle_}, convolution.image.type, precision, kWorkspace,
                               kMostPlans);
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
