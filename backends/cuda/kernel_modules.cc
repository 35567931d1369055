// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernel_modules.h"

#include <algorithm>
#include <iterator>

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

using Image = base::Result<std::string>;

// By all threads, in this order.
std::vector<Image> compiled(const Device& device,
                            std::span<const std::vector<const KernelSource*>> parts) {
  const Libraries& libraries = device.libraries();
  std::vector<Image> images(parts.size(), base::internal_error("not compiled"));
  base::shared_pool().parallel_for(parts.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      images[i] = compile_for_device(libraries.nvrtc, libraries.nvrtc_version,
                                     codegen::source_of(parts[i], codegen::Target::kCuda),
                                     device.facts().capability);
    }
  });
  return images;
}

}  // namespace

void KernelModules::compile(const Device& device,
                            std::span<const std::vector<const KernelSource*>> plans) {
  std::vector<std::vector<const KernelSource*>> all;
  for (const auto& kernels : plans) {
    auto parts = parts_of(kernels);
    std::ranges::move(parts, std::back_inserter(all));
  }
  (void)compiled(device, all);
}

base::Result<KernelModules> KernelModules::load(const Device& device,
                                                std::span<const KernelSource* const> kernels) {
  const auto parts = parts_of(kernels);
  std::vector<Image> images = compiled(device, parts);
  KernelModules loaded;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EGRET_ASSIGN_OR_RETURN(const std::string image, std::move(images[i]));
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
