// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/steps/unrolled_convolution.h"

#include <string>
#include <utility>
#include <vector>

#include "backends/cuda/steps/launch.h"
#include "backends/cuda/steps/window_matrix.h"

namespace egret::backends::cuda {
namespace {

constexpr std::size_t kUnit = 256;  // where the rest of the workspace may begin

// A convolution as two launches: an emitted kernel writes the window matrix into the workspace, and
// a matrix product reads it there.
class UnrolledConvolution : public LibraryStep {
 public:
  UnrolledConvolution(const DriverFunctions& driver, int image, std::size_t matrix_bytes,
                      codegen::KernelSource windows, std::unique_ptr<LibraryStep> product)
      : driver_(driver),
        image_(image),
        matrix_bytes_((matrix_bytes + kUnit - 1) / kUnit * kUnit),
        windows_(std::move(windows)),
        product_(std::move(product)) {}

  const char* library() const override { return product_->library(); }
  const char* name() const override { return "convolution"; }
  std::string description() const override { return windows_.name + " " + product_->description(); }
  bool prefers_channels_last() const override { return true; }
  std::vector<const codegen::KernelSource*> kernels() const override { return {&windows_}; }
  void take_kernels(std::span<const Function> kernels) override { write_windows_ = kernels[0]; }
  int candidates() const override { return product_->candidates(); }
  void choose(int candidate) override { product_->choose(candidate); }
  std::size_t workspace() const override { return matrix_bytes_ + product_->workspace(); }

  // The workspace begins with the window matrix, which is the product's last input. The rest is the
  // product's own workspace.
  base::Status enqueue(std::span<const DevicePointer> inputs, DevicePointer output,
                       DevicePointer workspace, Stream stream) const override {
    const DevicePointer written[] = {inputs[static_cast<std::size_t>(image_)], workspace, 0};
    const int status = launch_kernel(driver_, write_windows_, windows_, written, stream);
    if (status != 0)
      return base::unavailable("launching a kernel failed with status " + std::to_string(status));
    std::vector<DevicePointer> operands(inputs.begin(), inputs.end());
    operands.push_back(workspace);
    return product_->enqueue(operands, output, workspace + matrix_bytes_, stream);
  }

 private:
  const DriverFunctions& driver_;
  int image_;
  std::size_t matrix_bytes_;
  codegen::KernelSource windows_;
  Function write_windows_ = nullptr;
  std::unique_ptr<LibraryStep> product_;
};

}  // namespace

std::unique_ptr<LibraryStep> make_unrolled_convolution(const Libraries& libraries, LtHandle handle,
                                                       const Convolution& convolution,
                                                       const StepDefinition& definition,
                                                       Precision precision) {
  auto product = window_product(convolution, static_cast<int>(definition.inputs.size()));
  if (!product || (definition.part != nullptr && !put(*product, *definition.part))) return nullptr;
  const WindowMatrix matrix = window_matrix(convolution);
  const auto bytes = static_cast<std::size_t>(matrix.denotation.type.bytes());
  if (bytes > kWorkspace) return nullptr;
  auto windows =
      codegen::emit_kernel(matrix.denotation, {&matrix.image, 1}, codegen::Target::kCuda);
  auto step = make_gemm_step(libraries.lt, handle, *product, precision);
  if (!windows.ok() || step == nullptr) return nullptr;
  return std::make_unique<UnrolledConvolution>(libraries.driver, convolution.image.input, bytes,
                                               *std::move(windows), std::move(step));
}

}  // namespace egret::backends::cuda
