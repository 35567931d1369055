// SPDX-License-Identifier: Apache-2.0
// Emitted kernels on a GPU against the f64 interpreter.
#include <gtest/gtest.h>

#include "backends/cuda/api/device.h"
#include "backends/cuda/steps/launch.h"
#include "base/random.h"
#include "tests/codegen/kernel_batch.h"
#include "tests/codegen/sample_contractions.h"
#include "tests/codegen/sample_kernels.h"

namespace egret::backends::codegen {
namespace {

class DeviceKernels : public ::testing::Test {
 protected:
  void SetUp() override {
    const base::Status usable = cuda::usable(cuda::system_libraries());
    if (!usable.ok()) GTEST_SKIP() << usable.message();
    auto device = cuda::Device::open(cuda::system_libraries(), 0);
    ASSERT_TRUE(device.ok()) << device.status().message();
    device_ = *std::move(device);
  }

  // All kernels are compiled as one module; each case has memory of its own for its inputs, its
  // output and its failure word.
  void check(const KernelBatch& batch, double tolerance) {
    const auto image =
        cuda::compile_for_device(device_->libraries().nvrtc, device_->libraries().nvrtc_version,
                                 batch.emitted(), device_->facts().capability);
    ASSERT_TRUE(image.ok()) << image.status().message();
    const auto module = device_->load(*image);
    ASSERT_TRUE(module.ok()) << module.status().message();
    batch.check_with(
        [&](const KernelSource& kernel, const std::vector<ir::Tensor>& inputs, ir::Tensor& output,
            int* failure) { return launch(module->get(), kernel, inputs, output, failure); },
        tolerance);
  }

  base::Status launch(cuda::Module module, const KernelSource& kernel,
                      const std::vector<ir::Tensor>& inputs, ir::Tensor& output, int* failure) {
    const cuda::DriverFunctions& driver = device_->driver();
    cuda::Function function = nullptr;
    EGRET_RETURN_IF_ERROR(device_->check(
        driver.module_function(&function, module, kernel.name.c_str()), "finding a kernel"));
    std::vector<cuda::Owned<cuda::DevicePointer>> memory;
    const auto with = [&](const void* data, std::size_t bytes) -> base::Status {
      EGRET_ASSIGN_OR_RETURN(auto owned, device_->allocate(std::max<std::size_t>(bytes, 1)));
      memory.push_back(std::move(owned));
      return bytes == 0 ? base::ok() : device_->copy_in(memory.back().get(), data, bytes);
    };
    for (const ir::Tensor& input : inputs)
      EGRET_RETURN_IF_ERROR(with(input.data().data(), static_cast<std::size_t>(input.bytes())));
    const auto bytes = static_cast<std::size_t>(output.bytes());
    EGRET_RETURN_IF_ERROR(with(output.data().data(), bytes));
    EGRET_RETURN_IF_ERROR(with(failure, sizeof *failure));
    std::vector<cuda::DevicePointer> pointers;
    for (const auto& owned : memory) pointers.push_back(owned.get());
    EGRET_RETURN_IF_ERROR(
        device_->check(cuda::launch_kernel(driver, function, kernel, pointers, device_->stream()),
                       "launching a kernel"));
    EGRET_RETURN_IF_ERROR(
        device_->copy_out(output.mutable_data().data(), pointers[inputs.size()], bytes));
    EGRET_RETURN_IF_ERROR(device_->copy_out(failure, pointers[inputs.size() + 1], sizeof *failure));
    return device_->wait();
  }

  std::shared_ptr<cuda::Device> device_;
};

// As for large tensors, and in packs however small they are.
constexpr LeastPacks kLeastPacks[] = {{}, {1, 1}};

TEST_F(DeviceKernels, ComputeWhatEachOperatorIsDefinedToBe) {
  for (const LeastPacks& least : kLeastPacks) {
    KernelBatch batch(Target::kCuda, least);
    add_every_operator(batch, 3);
    check(batch, 1e-5);
  }
}

TEST_F(DeviceKernels, ComputeContractionsOnTensorCores) {
  if (device_->facts().capability < 80) GTEST_SKIP() << "a GPU without mma.sync of bf16";
  for (const int tiles : {0, 3, 6}) {
    KernelBatch batch(
        Target::kCuda, {},
        {.least_products = 1, .tensor_cores = {.has = true, .tf32 = true}, .tiles = tiles});
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      const ir::Graph graph = random_fragments(seed);
      base::Random random(seed);
      std::vector<ir::Tensor> inputs;
      for (const ir::NodeId id : graph.inputs())
        inputs.push_back(ir::Tensor::random(graph.node(id).type, random));
      batch.add(graph, std::move(inputs), "contraction of seed " + std::to_string(seed));
    }
    check(batch, 2e-2);  // roundings to TF32, or twice to bf16 of values up to 4
  }
}

// A thousand in parts, which several processes can share.
constexpr std::uint64_t kRegionsOfAPart = 125;
class ThousandDeviceKernels : public DeviceKernels,
                              public ::testing::WithParamInterface<std::uint64_t> {};

TEST_P(ThousandDeviceKernels, ComputeRandomRegions) {
  for (const LeastPacks& least : kLeastPacks) {
    KernelBatch batch(Target::kCuda, least);
    add_random_regions(batch, kRegionsOfAPart, GetParam());
    check(batch, 2e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, ThousandDeviceKernels,
                         ::testing::Range(std::uint64_t{0}, std::uint64_t{1000}, kRegionsOfAPart));

}  // namespace
}  // namespace egret::backends::codegen
