// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/cuda_backend.h"

#include <mutex>
#include <utility>

#include "backends/cuda/cuda_plan.h"

namespace egret::backends {
namespace cuda {
namespace {

class CudaBackend : public Backend {
 public:
  explicit CudaBackend(const Libraries& (*libraries)()) : libraries_(libraries) {}

  std::string_view name() const override { return "cuda"; }
  std::string_view doc() const override {
    return "an NVIDIA GPU: kernels emitted from the definitions, cuBLASLt for matrix products";
  }
  std::string version() const override {
    const Libraries& libraries = libraries_();
    std::string text = "driver " + version_text(libraries.driver_version) + ", NVRTC " +
                       version_text(libraries.nvrtc_version);
    if (const auto device = first_device(); device.ok()) text += ", " + (*device)->facts().name;
    return text;
  }
  base::Status availability() const override { return usable(libraries_()); }

  base::Result<std::unique_ptr<Plan>> compile(const ir::Graph& graph,
                                              const PlanOptions& options) const override {
    EGRET_ASSIGN_OR_RETURN(std::shared_ptr<Device> device, first_device());
    const auto takes_none = [](const ir::Graph&, ir::NodeId) { return false; };
    EGRET_ASSIGN_OR_RETURN(PreparedGraph prepared, prepare(*this, graph, options, takes_none));
    EGRET_RETURN_IF_ERROR(device->enter());
    const LtFunctions& lt = libraries_().lt;
    Owned<LtHandle> handle;
    std::vector<Product> products;
    if (LtHandle made = nullptr; libraries_().has_lt.ok() && lt.create(&made) == 0) {
      handle = {made, lt.destroy};
      products = find_products(prepared.graph, lt, made, kProductWorkspace);
    }
    codegen::RegionOptions regions{.target = codegen::Target::kCuda, .fuse = options.fuse};
    for (const Product& product : products)
      regions.apart.push_back({product.region.nodes, product.region.inputs});
    return CudaPlan::make(graph, make_program(std::move(prepared), regions), std::move(handle),
                          std::move(products), options, std::move(device));
  }

 private:
  base::Result<std::shared_ptr<Device>> first_device() const {
    const std::lock_guard lock(mutex_);
    if (device_ == nullptr) {
      EGRET_ASSIGN_OR_RETURN(device_, Device::open(libraries_(), 0));
    }
    return device_;
  }

  const Libraries& (*libraries_)();
  mutable std::mutex mutex_;
  mutable std::shared_ptr<Device> device_;
};

}  // namespace

std::unique_ptr<Backend> make_backend(const Libraries& (*libraries)()) {
  return std::make_unique<CudaBackend>(libraries);
}

}  // namespace cuda

std::unique_ptr<Backend> make_cuda_backend() { return cuda::make_backend(cuda::system_libraries); }

}  // namespace egret::backends
