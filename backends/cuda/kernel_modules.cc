// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernel_modules.h"

#include <algorithm>
#include <optional>

#include "base/thread_pool.h"

namespace egret::backends::cuda {
namespace {

using codegen::KernelSource;

constexpr std::size_t kLeastKernels = 4;  // of a module: each compiles the prelude too

// Each once, in parts of about equal length.
std::vector<std::vector<const KernelSource*>> parts_of(
    std::span<const KernelSource* const> kernels) {
  std::map<std::string_view, const KernelSource*> by_name;
  for (const KernelSource* kernel : kernels) by_name.emplace(kernel->name, kernel);
  const std::size_t most = (by_name.size() + kLeastKernels - 1) / kLeastKernels;
  std::vector<std::vector<const KernelSource*>> parts(
      std::min(most, base::shared_pool().threads()));
  std::size_t next = 0;
  for (const auto& [name, kernel] : by_name) parts[next++ % parts.size()].push_back(kernel);
  return parts;
}

}  // namespace

base::Result<KernelModules> KernelModules::load(const Device& device,
                                                std::span<const KernelSource* const> kernels) {
  const auto parts = parts_of(kernels);
  const Libraries& libraries = device.libraries();
  std::vector<std::optional<base::Result<std::string>>> images(parts.size());
  base::shared_pool().parallel_for(parts.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      images[i] = compile_for_device(libraries.nvrtc, libraries.nvrtc_version,
                                     codegen::source_of(parts[i], codegen::Target::kCuda),
                                     device.facts().capability);
    }
  });
  KernelModules loaded;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EGRET_ASSIGN_OR_RETURN(const std::string image, *std::move(images[i]));
    EGRET_ASSIGN_OR_RETURN(loaded.modules_.emplace_back(), device.load(image));
    for (const KernelSource* kernel : parts[i]) {
      EGRET_RETURN_IF_ERROR(device.check(
          device.driver().module_function(&loaded.functions_[kernel->name],
                                          loaded.modules_.back().get(), kernel->name.c_str()),
          "finding a kernel"));
    }
  }
  return loaded;
}

}  // namespace egret::backends::cuda
