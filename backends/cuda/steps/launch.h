// SPDX-License-Identifier: Apache-2.0
// Launches of emitted kernels.
#pragma once

#include <span>

#include "backends/codegen/kernel_source.h"
#include "backends/cuda/api/device.h"

namespace egret::backends::cuda {

// `pointers`: the inputs, the output and the failure word, which may be 0 where the kernel cannot
// fail. The driver's status.
int launch_kernel(const DriverFunctions& driver, Function function,
                  const codegen::KernelSource& kernel, std::span<const DevicePointer> pointers,
                  Stream stream);

}  // namespace egret::backends::cuda
