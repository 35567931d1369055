// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/convolution.h"

#include <algorithm>

namespace egret::backends::cuda {
namespace {

int data_type(ir::DType type) {
  switch (type) {
    case ir::DType::kF64: return kDnnF64;
    case ir::DType::kF16: return kDnnF16;
    case ir::DType::kBF16: return kDnnBF16;
    default: return kDnnF32;
  }
}

std::vector<int> row_major(const std::vector<int>& sizes) {
  std::vector<int> strides(sizes.size(), 1);
  for (std::size_t i = sizes.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * sizes[i + 1];
  return strides;
}

class ConvolutionStep : public LibraryStep {
 public:
  ConvolutionStep(const DnnFunctions& dnn, DnnHandle handle, const Convolution& convolution)
      : dnn_(dnn),
        handle_(handle),
        image_(convolution.image),
        filter_(convolution.filter),
        wide_(convolution.type == ir::DType::kF64) {}
  ~ConvolutionStep() override {
    if (x_ != nullptr) dnn_.tensor_destroy(x_);
    if (y_ != nullptr) dnn_.tensor_destroy(y_);
    if (w_ != nullptr) dnn_.filter_destroy(w_);
    if (convolution_ != nullptr) dnn_.convolution_destroy(convolution_);
  }
  ConvolutionStep(const ConvolutionStep&) = delete;
  ConvolutionStep& operator=(const ConvolutionStep&) = delete;

  const char* library() const override { return "cuDNN"; }

  // False where cuDNN refuses.
  bool prepare(const Convolution& c) {
    const int type = data_type(c.type);
    const int rank = static_cast<int>(c.image_sizes.size());
    const bool described =
        dnn_.tensor_create(&x_) == 0 && dnn_.tensor_create(&y_) == 0 &&
        dnn_.filter_create(&w_) == 0 && dnn_.convolution_create(&convolution_) == 0 &&
        dnn_.tensor_set(x_, type, rank, c.image_sizes.data(), row_major(c.image_sizes).data()) ==
            0 &&
        dnn_.tensor_set(y_, type, rank, c.output_sizes.data(), row_major(c.output_sizes).data()) ==
            0 &&
        dnn_.filter_set(w_, type, kDnnRowMajor, rank, c.filter_sizes.data()) == 0 &&
        dnn_.convolution_set(convolution_, rank - 2, c.pads.data(), c.strides.data(),
                             c.dilations.data(), kDnnCrossCorrelation,
                             wide_ ? kDnnF64 : kDnnF32) == 0 &&
        dnn_.convolution_set_groups(convolution_, c.groups) == 0;
    // f32 means f32, not TF32.
    if (!described ||
        (c.type == ir::DType::kF32 && dnn_.convolution_set_math(convolution_, kDnnFmaMath) != 0))
      return false;
    DnnAlgorithm algorithms[8];
    int found = 0;
    if (dnn_.algorithms(handle_, x_, w_, convolution_, y_, 8, &found, algorithms) != 0)
      return false;
    const auto* best = std::find_if(algorithms, algorithms + found, [](const DnnAlgorithm& each) {
      return each.status == 0 && each.memory <= kWorkspace;
    });
    if (best == algorithms + found) return false;
    chosen_ = *best;
    return true;
  }

  base::Status enqueue(std::span<const DevicePointer> inputs, DevicePointer output,
                       DevicePointer workspace, Stream) const override {
    const float one = 1, zero = 0;
    const double wide_one = 1, wide_zero = 0;
    const auto at = [](DevicePointer pointer) { return reinterpret_cast<void*>(pointer); };
    const int status =
        dnn_.convolve(handle_, wide_ ? static_cast<const void*>(&wide_one) : &one, x_,
                      at(inputs[static_cast<std::size_t>(image_)]), w_,
                      at(inputs[static_cast<std::size_t>(filter_)]), convolution_,
                      chosen_.algorithm, at(workspace), chosen_.memory,
                      wide_ ? static_cast<const void*>(&wide_zero) : &zero, y_, at(output));
    if (status == 0) return base::ok();
    return base::unavailable("cuDNN: a convolution failed with status " + std::to_string(status));
  }

 private:
  const DnnFunctions& dnn_;
  DnnHandle handle_;
  int image_, filter_;
  bool wide_;
  DnnTensor x_ = nullptr, y_ = nullptr;
  DnnFilter w_ = nullptr;
  DnnConvolution convolution_ = nullptr;
  DnnAlgorithm chosen_{};
};

}  // namespace

std::unique_ptr<LibraryStep> make_convolution_step(const DnnFunctions& dnn, DnnHandle handle,
                                                   const Convolution& convolution) {
  auto step = std::make_unique<ConvolutionStep>(dnn, handle, convolution);
  if (!step->prepare(convolution)) return nullptr;
  return step;
}

}  // namespace egret::backends::cuda
