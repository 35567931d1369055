// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/cuda_backend.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>

#include "backends/cuda/api/peak_rates.h"
#include "backends/cuda/compilation.h"
#include "backends/division.h"

namespace egret::backends {
namespace cuda {
namespace {

class CudaBackend : public Backend {
 public:
  explicit CudaBackend(const Libraries& (*libraries)()) : libraries_(libraries) {}

  std::string_view name() const override { return "cuda"; }
  std::string_view doc() const override {
    return "an NVIDIA GPU: kernels emitted from the definitions, cuBLASLt and cuDNN";
  }
  std::string version() const override {
    const Libraries& libraries = libraries_();
    std::string text = "driver " + version_text(libraries.driver_version) + ", NVRTC " +
                       version_text(libraries.nvrtc_version);
    if (const auto device = first_device(); device.ok()) text += ", " + (*device)->facts().name;
    return text;
  }
  base::Status takes_precision(Precision /*precision*/) const override { return base::ok(); }
  base::Status availability() const override { return usable(libraries_()); }
  std::optional<PeakRates> peak_rates(Precision precision) const override {
    const auto device = first_device();
    if (!device.ok()) return std::nullopt;
    return cuda::peak_rates((*device)->facts(), precision);
  }

  base::Result<Division> divide(const ir::Graph& graph,
                                const CompileOptions& options) const override;
  void make_ready(std::span<const ir::Graph> graphs, const CompileOptions& options) const override;
  base::Result<std::unique_ptr<ExecutablePlan>> compile(
      const ir::Graph& graph, const CompileOptions& options) const override {
    EGRET_ASSIGN_OR_RETURN(auto plan,
                           compile_on(*this, first_device(), graph, options, std::nullopt));
    return std::unique_ptr<ExecutablePlan>(std::move(plan));
  }

 private:
  base::Result<std::shared_ptr<Device>> first_device() const {
    const std::lock_guard lock(mutex_);
    if (device_ == nullptr) {
      EGRET_ASSIGN_OR_RETURN(device_, open_own_device(libraries_()));
    }
    return device_;
  }

  const Libraries& (*libraries_)();
  mutable std::mutex mutex_;
  mutable std::shared_ptr<Device> device_;
};

bool takes_none(const ir::Graph& /*graph*/, ir::NodeId /*id*/) { return false; }

void CudaBackend::make_ready(std::span<const ir::Graph> graphs,
                             const CompileOptions& options) const {
  const auto device = first_device();
  if (!device.ok() || !(*device)->enter().ok()) return;
  const std::optional<BoundMemory> unbound;
  std::vector<std::unique_ptr<Compilation>> compilations;
  std::vector<LibraryStep*> steps;
  for (const ir::Graph& graph : graphs) {
    auto prepared = prepare(*this, graph, options, takes_none);
    if (!prepared.ok()) continue;
    compilations.push_back(
        std::make_unique<Compilation>(graph, options, *std::move(prepared), *device, unbound));
    std::ranges::copy(compilations.back()->begin(), std::back_inserter(steps));
  }
  if (!prepare_steps(**device, steps, options.search).ok()) return;
  std::vector<const codegen::KernelSource*> kernels;
  for (const auto& compilation : compilations)
    std::ranges::copy(compilation->kernels(), std::back_inserter(kernels));
  KernelModules::compile(**device, kernels);
}

base::Result<Division> CudaBackend::divide(const ir::Graph& graph,
                                           const CompileOptions& options) const {
  CompileOptions unfolded = options;
  unfolded.fold = false;
  EGRET_ASSIGN_OR_RETURN(PreparedGraph prepared, prepare(*this, graph, unfolded, takes_none));
  EGRET_ASSIGN_OR_RETURN(std::shared_ptr<Device> device, first_device());
  EGRET_RETURN_IF_ERROR(device->enter());
  const std::optional<BoundMemory> unbound;
  const Division kernels =
      Compilation(graph, unfolded, prepared, std::move(device), unbound).own_kernels();
  return given_division(prepared, kernels);
}

}  // namespace

base::Result<std::unique_ptr<CudaPlan>> compile_on(const Backend& backend,
                                                   base::Result<std::shared_ptr<Device>> opened,
                                                   const ir::Graph& graph,
                                                   const CompileOptions& options,
                                                   std::optional<BoundMemory> bound) {
  EGRET_ASSIGN_OR_RETURN(PreparedGraph prepared, prepare(backend, graph, options, takes_none));
  EGRET_ASSIGN_OR_RETURN(std::shared_ptr<Device> device, std::move(opened));
  EGRET_RETURN_IF_ERROR(device->enter());
  const auto own = [&](PreparedGraph part) {
    return Compilation(graph, options, std::move(part), device, bound).own_kernels();
  };
  EGRET_ASSIGN_OR_RETURN(const auto asked, parts_for(graph, prepared, options, "cuda", own));
  EGRET_ASSIGN_OR_RETURN(backends::Division parts, parts_apart(asked));
  Compilation compilation(graph, options, std::move(prepared), std::move(device), bound);
  compilation.divide_as(std::move(parts));
  return compilation.best();
}

std::unique_ptr<Backend> make_backend(const Libraries& (*libraries)()) {
  return std::make_unique<CudaBackend>(libraries);
}

}  // namespace cuda

std::unique_ptr<Backend> make_cuda_backend() { return cuda::make_backend(cuda::system_libraries); }

}  // namespace egret::backends
