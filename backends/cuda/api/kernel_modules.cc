// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/api/kernel_modules.h"

#include <string_view>
#include <utility>

#include "base/system/thread_pool.h"

namespace egret::backends::cuda {
namespace {

using codegen::KernelSource;

// Kernels of one name are equal, since the name is a hash of the text.
std::vector<const KernelSource*> each_once(std::span<const KernelSource* const> kernels) {
  std::map<std::string_view, const KernelSource*> by_name;
  for (const KernelSource* kernel : kernels) by_name.emplace(kernel->name, kernel);
  std::vector<const KernelSource*> once;
  for (const auto& [name, kernel] : by_name) once.push_back(kernel);
  return once;
}

using Image = base::Result<std::string>;

// By all threads, in this order.
std::vector<Image> compiled(const Device& device, std::span<const KernelSource* const> kernels) {
  const Libraries& libraries = device.libraries();
  std::vector<Image> images(kernels.size(), base::internal_error("not compiled"));
  base::shared_pool().parallel_for(kernels.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      images[i] =
          compile_for_device(libraries.nvrtc, libraries.nvrtc_version,
                             codegen::source_of(kernels.subspan(i, 1), codegen::Target::kCuda),
                             device.facts().capability);
    }
  });
  return images;
}

}  // namespace

void KernelModules::compile(const Device& device, std::span<const KernelSource* const> kernels) {
  (void)compiled(device, each_once(kernels));
}

KernelModules KernelModules::load(const Device& device,
                                  std::span<const KernelSource* const> kernels) {
  const auto once = each_once(kernels);
  std::vector<Image> images = compiled(device, once);
  KernelModules loaded;
  const auto function_of = [&](const Image& image,
                               const std::string& name) -> base::Result<Function> {
    if (!image.ok()) return image.status();
    EGRET_ASSIGN_OR_RETURN(Owned<Module> module, device.load(*image));
    Function function{};
    EGRET_RETURN_IF_ERROR(
        device.check(device.driver().module_function(&function, module.get(), name.c_str()),
                     "finding a kernel"));
    loaded.modules_.push_back(std::move(module));
    return function;
  };
  for (std::size_t i = 0; i < once.size(); ++i)
    loaded.functions_.emplace(once[i]->name, function_of(images[i], once[i]->name));
  return loaded;
}

}  // namespace egret::backends::cuda
