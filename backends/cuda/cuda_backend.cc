// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/cuda_backend.h"

#include <mutex>
#include <utility>

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

  base::Result<std::unique_ptr<Plan>> compile(const ir::Graph& graph,
                                              const PlanOptions& options) const override {
    EGRET_ASSIGN_OR_RETURN(auto plan,
                           compile_on(*this, first_device(), graph, options, std::nullopt));
    return std::unique_ptr<Plan>(std::move(plan));
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

}  // namespace

base::Result<std::unique_ptr<CudaPlan>> compile_on(const Backend& backend,
                                                   base::Result<std::shared_ptr<Device>> opened,
                                                   const ir::Graph& graph,
                                                   const PlanOptions& options,
                                                   std::optional<BoundMemory> bound) {
  const auto takes_none = [](const ir::Graph&, ir::NodeId) { return false; };
  EGRET_ASSIGN_OR_RETURN(PreparedGraph prepared, prepare(backend, graph, options, takes_none));
  EGRET_ASSIGN_OR_RETURN(std::shared_ptr<Device> device, std::move(opened));
  EGRET_RETURN_IF_ERROR(device->enter());
  const Libraries& libraries = device->libraries();
  LibraryHandles handles = open_libraries(libraries, device->stream());
  auto library_steps =
      find_library_steps(prepared.graph, step_makers(libraries, handles, options.precision));
  codegen::RegionOptions regions{.target = codegen::Target::kCuda, .fuse = options.fuse};
  for (const LibraryRegion& region : library_steps)
    regions.apart.push_back({region.nodes, region.inputs});
  return CudaPlan::make(graph, make_program(std::move(prepared), regions), std::move(handles),
                        std::move(library_steps), options, std::move(device), std::move(bound));
}

std::unique_ptr<Backend> make_backend(const Libraries& (*libraries)()) {
  return std::make_unique<CudaBackend>(libraries);
}

}  // namespace cuda

std::unique_ptr<Backend> make_cuda_backend() { return cuda::make_backend(cuda::system_libraries); }

}  // namespace egret::backends
