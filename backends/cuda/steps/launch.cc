// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/steps/launch.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"

namespace egret::backends::cuda {
namespace {

constexpr int kMostTiles = 2;               // shapes that are compiled and measured
constexpr int kInvalidHandle = 400;         // CUDA_ERROR_INVALID_HANDLE
constexpr unsigned char kUnwritten = 0xff;  // of all bytes: no number, in types of reals

// Inputs are at most so many random numbers, one after the other as often as they fit. A prime: no
// two rows that a kernel could confuse are equal.
constexpr std::int64_t kDrawn = 1'048'573;

base::Status put_numbers(const Device& device, const ir::Tensor& numbers, DevicePointer to,
                         std::size_t bytes) {
  const auto period = static_cast<std::size_t>(numbers.bytes());
  for (std::size_t at = 0; at < bytes; at += period) {
    EGRET_RETURN_IF_ERROR(
        device.copy_in(to + at, numbers.data().data(), std::min(period, bytes - at)));
  }
  return base::ok();
}

// Whether both are results of one computation. Reals may differ by the rounding of products to
// TF32, of sums in another order and of the result to bf16 (2^-9): by 1/32 of the element and of
// the root mean square of all. A sum of 10,000 products that lacks 32 of them differs by more in
// some of its elements. False also where the results are no measure: all are 0, or most are not
// finite.
bool agree(const ir::Tensor& got, const ir::Tensor& expected) {
  constexpr double kShare = 1.0 / 32;
  double squares = 0;
  std::int64_t finite = 0;
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    const double value = expected.f64_at(i);
    if (!std::isfinite(value)) continue;
    squares += value * value;
    ++finite;
  }
  if (squares == 0 || 2 * finite < expected.elements()) return false;
  const double size = std::sqrt(squares / static_cast<double>(finite));
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    const double a = expected.f64_at(i), b = got.f64_at(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (!ir::is_float(expected.dtype())) return false;
    // The negated comparison also rejects NaN; an infinite bound would accept anything.
    if (!std::isfinite(a) || !(std::abs(a - b) <= kShare * (std::abs(a) + size))) return false;
  }
  return true;
}

class EmittedContraction : public LibraryStep {
 public:
  EmittedContraction(const DriverFunctions& driver, std::vector<codegen::KernelSource> kernels,
                     const StepDefinition& definition, LibraryStep& library)
      : driver_(driver),
        kernels_(std::move(kernels)),
        inputs_(definition.inputs.begin(), definition.inputs.end()),
        output_(definition.denotation.type),
        library_(library) {}

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
  base::Result<bool> is_right(const Device& device, const TrialMemory& memory) const override {
    std::optional<ir::Tensor> expected, got;  // by the library's first algorithm that runs
    for (int candidate = 0; !expected && candidate < library_.candidates(); ++candidate) {
      library_.choose(candidate);
      EGRET_ASSIGN_OR_RETURN(expected, result_of(library_, device, memory));
    }
    if (expected) {
      EGRET_ASSIGN_OR_RETURN(got, result_of(*this, device, memory));
    }
    return got && agree(*got, *expected);
  }

 private:
  // Of the same random inputs each time; nullopt where the step cannot be enqueued.
  base::Result<std::optional<ir::Tensor>> result_of(const LibraryStep& step, const Device& device,
                                                    const TrialMemory& memory) const {
    base::Random random(1);
    std::vector<ir::Tensor> numbers;  // until they are copied
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (memory.fixed[i] || inputs_[i].elements() == 0) continue;
      const std::int64_t count = std::min(kDrawn, inputs_[i].elements());
      numbers.push_back(ir::Tensor::random({inputs_[i].dtype, ir::Shape{count}}, random));
      EGRET_RETURN_IF_ERROR(put_numbers(device, numbers.back(), memory.inputs[i],
                                        static_cast<std::size_t>(inputs_[i].bytes())));
    }
    // What a step leaves unwritten is then no other step's result.
    ir::Tensor result = ir::Tensor::unfilled(output_);
    const auto bytes = static_cast<std::size_t>(result.bytes());
    EGRET_RETURN_IF_ERROR(device.check(
        driver_.set_bytes(memory.output, kUnwritten, bytes, device.stream()), "setting memory"));
    const bool runs =
        step.enqueue(memory.inputs, memory.output, memory.workspace, device.stream()).ok();
    if (runs) {
      EGRET_RETURN_IF_ERROR(device.copy_out(result.mutable_data().data(), memory.output, bytes));
    }
    EGRET_RETURN_IF_ERROR(device.wait());
    return runs ? std::optional(std::move(result)) : std::nullopt;
  }

  const DriverFunctions& driver_;
  std::vector<codegen::KernelSource> kernels_;
  std::vector<ir::TensorType> inputs_;
  ir::TensorType output_;
  LibraryStep& library_;  // computes the same
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
                                                      const codegen::TensorCores& cores,
                                                      LibraryStep& library) {
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
  return std::make_unique<EmittedContraction>(driver, std::move(kernels), definition, library);
}

}  // namespace egret::backends::cuda
