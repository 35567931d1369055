// SPDX-License-Identifier: Apache-2.0
// The emitted kernels of a plan, compiled and loaded: each a module of its own, so that another
// plan finds those that it shares with this one in the kernel cache. (Compiling the prelude with
// each takes a third of the time.)
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
  // Each kernel once, compiled by all threads. Errors: those of compile_for_device() and of
  // loading.
  static base::Result<KernelModules> load(const Device& device,
                                          std::span<const codegen::KernelSource* const> kernels);

  // Into the kernel cache, where load() then finds them. What does not compile shows there.
  static void compile(const Device& device, std::span<const codegen::KernelSource* const> kernels);

  // One of those that were loaded.
  Function function(const codegen::KernelSource& kernel) const {
    return functions_.at(kernel.name);
  }

 private:
  std::vector<Owned<Module>> modules_;
  std::map<std::string, Function> functions_;  // by name
};

}  // namespace egret::backends::cuda
