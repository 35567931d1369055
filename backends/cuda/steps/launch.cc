// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/steps/launch.h"

#include <vector>

namespace egret::backends::cuda {

int launch_kernel(const DriverFunctions& driver, Function function,
                  const codegen::KernelSource& kernel, std::span<const DevicePointer> pointers,
                  Stream stream) {
  std::vector<void*> arguments;
  for (const DevicePointer& pointer : pointers)
    arguments.push_back(const_cast<DevicePointer*>(&pointer));
  return driver.launch(function, static_cast<unsigned>(kernel.blocks), 1, 1,
                       static_cast<unsigned>(kernel.threads), 1, 1, 0, stream, arguments.data(),
                       nullptr);
}

}  // namespace egret::backends::cuda
