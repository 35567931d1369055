// SPDX-License-Identifier: Apache-2.0
// The emitted kernels of a plan, compiled and loaded. Each is a module of its own, so that plans
// share kernels through the kernel cache. (Compiling the prelude with each takes a third of the
// time.)
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "backends/codegen/kernel_source.h"
#include "backends/cuda/api/device.h"

namespace egret::backends::cuda {

class KernelModules {
 public:
  // Each kernel once, compiled by all threads. A kernel that fails takes no other with it.
  static KernelModules load(const Device& device,
                            std::span<const codegen::KernelSource* const> kernels);

  // Compiles into the kernel cache, where load() then finds them. Errors appear in function().
  static void compile(const Device& device, std::span<const codegen::KernelSource* const> kernels);

  // The function of one of the kernels. Errors: those of compile_for_device() and of loading.
  const base::Result<Function>& function(const codegen::KernelSource& kernel) const {
    return functions_.at(kernel.name);
  }

 private:
  std::vector<Owned<Module>> modules_;
  std::map<std::string, base::Result<Function>> functions_;  // by name
};

}  // namespace egret::backends::cuda
