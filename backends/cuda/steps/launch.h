// SPDX-License-Identifier: Apache-2.0
// Launches of emitted kernels, and emitted contractions as steps that race with those of libraries.
#pragma once

#include <memory>
#include <span>

#include "backends/codegen/kernel_source.h"
#include "backends/cuda/api/device.h"
#include "backends/cuda/steps/library_step.h"

namespace egret::backends::cuda {

// `pointers`: the inputs, the output and the failure word, which may be 0 where the kernel cannot
// fail. The driver's status.
int launch_kernel(const DriverFunctions& driver, Function function,
                  const codegen::KernelSource& kernel, std::span<const DevicePointer> pointers,
                  Stream stream);

// The definition as an emitted contraction on the tensor cores, with whatever stands around its
// sum: its candidates are a few shapes of tiles. nullptr where it is none that they take (f32
// operands only with `cores.tf32`), and for parts of larger values. Contractions that are emitted
// as plain loops are not in the race: libraries' are many times faster.
std::unique_ptr<LibraryStep> make_emitted_contraction(const DriverFunctions& driver,
                                                      const StepDefinition& definition,
                                                      const codegen::TensorCores& cores);

}  // namespace egret::backends::cuda
