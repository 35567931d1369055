// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/steps/launch.h"

#include <string>
#include <utility>
#include <vector>

namespace egret::backends::cuda {
namespace {

constexpr int kMostTiles = 2;        // shapes that are compiled and measured
constexpr int kInvalidHandle = 400;  // CUDA_ERROR_INVALID_HANDLE

class EmittedContraction : public LibraryStep {
 public:
  EmittedContraction(const DriverFunctions& driver, std::vector<codegen::KernelSource> kernels)
      : driver_(driver), kernels_(std::move(kernels)) {}

  const char* library() const override { return "NVRTC"; }
  const char* name() const override { return "contraction"; }
  std::string description() const override {
    std::string names = "emitted";
    for (const codegen::KernelSource& kernel : kernels_) names += " " + kernel.name;
    return names;
  }
  std::vector<const codegen::KernelSource*> kernels() const override {
    std::vector<const codegen::KernelSource*> all;
    for (const codegen::KernelSource& kernel : kernels_) all.push_back(&kernel);
    return all;
  }
  void take_kernels(std::span<const Function> kernels) override {
    functions_.assign(kernels.begin(), kernels.end());
  }
  int candidates() const override { return static_cast<int>(kernels_.size()); }
  void choose(int candidate) override { chosen_ = static_cast<std::size_t>(candidate); }
  std::size_t workspace() const override { return 0; }
  base::Status enqueue(std::span<const DevicePointer> inputs, DevicePointer output,
                       DevicePointer /*workspace*/, Stream stream) const override {
    std::vector<DevicePointer> pointers(inputs.begin(), inputs.end());
    pointers.insert(pointers.end(), {output, 0});
    const int status =
        launch_kernel(driver_, functions_[chosen_], kernels_[chosen_], pointers, stream);
    return status == 0 ? base::ok()
                       : base::unavailable("launching a kernel failed with status " +
                                           std::to_string(status));
  }

 private:
  const DriverFunctions& driver_;
  std::vector<codegen::KernelSource> kernels_;
  std::vector<Function> functions_;
  std::size_t chosen_ = 0;
};

}  // namespace

int launch_kernel(const DriverFunctions& driver, Function function,
                  const codegen::KernelSource& kernel, std::span<const DevicePointer> pointers,
                  Stream stream) {
  if (function == nullptr) return kInvalidHandle;
  std::vector<void*> arguments;
  for (const DevicePointer& pointer : pointers)
    arguments.push_back(const_cast<DevicePointer*>(&pointer));
  return driver.launch(function, static_cast<unsigned>(kernel.blocks), 1, 1,
                       static_cast<unsigned>(kernel.threads), 1, 1, 0, stream, arguments.data(),
                       nullptr);
}

std::unique_ptr<LibraryStep> make_emitted_contraction(const DriverFunctions& driver,
                                                      const StepDefinition& definition,
                                                      const codegen::TensorCores& cores) {
  if (definition.part != nullptr || !cores.has) return nullptr;
  std::vector<codegen::KernelSource> kernels;
  for (int tiles = 0; tiles < kMostTiles; ++tiles) {
    auto kernel =
        codegen::emit_kernel(definition.denotation, definition.inputs, codegen::Target::kCuda, {},
                             {.tensor_cores = cores, .tiles = tiles});
    // A step has no word in which a kernel could say that data made it fail.
    if (!kernel.ok() || kernel->fragments == codegen::Fragments::kNone || kernel->may_fail) break;
    const bool is_last = kernel->other_tiles <= tiles;
    kernels.push_back(*std::move(kernel));
    if (is_last) break;
  }
  if (kernels.empty()) return nullptr;
  return std::make_unique<EmittedContraction>(driver, std::move(kernels));
}

}  // namespace egret::backends::cuda
