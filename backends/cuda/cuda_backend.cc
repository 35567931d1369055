// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/cuda_backend.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <mutex>
#include <utility>

#include "backends/cuda/join.h"
#include "backends/cuda/peak_rates.h"
#include "backends/cuda/stored_program.h"
#include "base/thread_pool.h"

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

// All plans for one graph.
class Compilation {
 public:
  Compilation(const ir::Graph& graph, const PlanOptions& options, PreparedGraph prepared,
              std::shared_ptr<Device> device, const std::optional<BoundMemory>& bound)
      : graph_(graph),
        options_(options),
        prepared_(std::move(prepared)),
        device_(std::move(device)),
        bound_(bound),
        handles_(open_libraries(*device_, options.precision)) {}

  // What may be faster, and may be not, is measured, unless there is to be no search: channels last
  // around convolutions, and what libraries and emitted kernels both can do.
  base::Result<std::unique_ptr<CudaPlan>> best() {
    const bool narrow = options_.precision == Precision::kBF16;
    const bool on_tensor_cores = options_.precision != Precision::kF32;
    const bool may_move_channels = options_.blocked && has_convolutions();
    Way way{
        .storage = {narrow, on_tensor_cores && may_move_channels},
        .taken = {
            .tails = on_tensor_cores && options_.fuse, .depthwise = true, .joins = options_.fuse}};
    auto best = plan(way);
    if (!options_.search) return best;
    std::optional<double> least;
    const auto try_other = [&](const Way& other) {
      if (!least) least = seconds_of(best);
      auto made = plan(other);  // fails where there is no room for two
      const double seconds = seconds_of(made);
      if (seconds >= *least) return;
      least = seconds;
      best = std::move(made);
      way = other;
    };
    const auto has = [&](bool Contested::*kind) { return best.ok() && (*best)->contested().*kind; };
    if (may_move_channels) try_other({{narrow, !way.storage.channels_last}, way.taken});
    for (bool Contested::*kind : {&Contested::tails, &Contested::depthwise, &Contested::joins}) {
      if (!has(kind)) continue;
      Way without = way;
      without.taken.*kind = false;
      try_other(without);
    }
    return best;
  }

 private:
  struct Way {
    StorageOptions storage;
    Contested taken;
  };
  struct Division {
    std::vector<LibraryRegion> steps;
    std::vector<codegen::Region> regions;
  };

  // Infinite where it cannot be run.
  static double seconds_of(const base::Result<std::unique_ptr<CudaPlan>>& plan) {
    if (!plan.ok()) return HUGE_VAL;
    const auto seconds = (*plan)->measure();
    return seconds.ok() ? *seconds : HUGE_VAL;
  }

  Division divided(const MakeRegion& make) const {
    Division division{find_library_steps(prepared_.graph, make), {}};
    codegen::RegionOptions how{.target = codegen::Target::kCuda, .fuse = options_.fuse};
    for (const LibraryRegion& step : division.steps) how.apart.push_back({step.nodes, step.inputs});
    division.regions = codegen::find_regions(prepared_.graph, how);
    return division;
  }

  // With what takes libraries long to make, several steps at a time. Where it shows that a library
  // cannot do what it seemed to, that is known the next time.
  base::Result<Division> prepared(const std::function<Division()>& divide) const {
    while (true) {
      Division division = divide();
      std::vector<char> fails(division.steps.size(), 0);
      std::vector<base::Status> entered(division.steps.size(), base::ok());
      base::shared_pool().parallel_for(fails.size(), 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          entered[i] = device_->enter();
          fails[i] = entered[i].ok() && !division.steps[i].step->prepare(options_.search) ? 1 : 0;
        }
      });
      for (const base::Status& status : entered) EGRET_RETURN_IF_ERROR(status);
      if (std::ranges::find(fails, 1) == fails.end()) return division;
    }
  }

  std::vector<MakeStep> makers(const Contested& taken) const {
    return step_makers(device_->libraries(), *handles_, options_.precision, taken);
  }

  // Of the values as the graph says.
  const Division& plain() {
    if (!plain_) {
      plain_ =
          divided([&, makers = makers({.depthwise = true})](const std::vector<ir::NodeId>& nodes) {
            return make_step(prepared_.graph, nodes, makers);
          });
    }
    return *plain_;
  }
  bool has_convolutions() {
    return std::ranges::any_of(
        plain().steps, [](const LibraryRegion& of) { return of.step->prefers_channels_last(); });
  }

  base::Result<std::unique_ptr<CudaPlan>> plan(const Way& way) {
    const Division none;
    const Division& around = way.storage.channels_last ? plain() : none;
    const Storage storage(prepared_.graph, around.regions, around.steps, way.storage);
    const std::vector<MakeStep> makers = this->makers(way.taken);
    EGRET_ASSIGN_OR_RETURN(
        Division division, prepared([&] {
          Division made = divided(
              [&](const std::vector<ir::NodeId>& nodes) { return storage.step(nodes, makers); });
          if (way.taken.joins)
            join_parts(prepared_.graph, storage, makers, made.steps, made.regions);
          return made;
        }));
    StoredProgram stored = store(prepared_, storage, division.regions, std::move(division.steps));
    codegen::Program program =
        make_program(std::move(stored.prepared), std::move(stored.regions), most_apart());
    return CudaPlan::make(graph_, std::move(program), handles_, std::move(stored.library_steps),
                          options_, device_, bound_);
  }

  // Values that share a place order the steps that touch them, on whatever streams they are: so
  // they do only where steps are ordered anyway, unless that takes much of the device's memory.
  std::int64_t most_apart() const {
    constexpr std::int64_t kShare = 4;
    const bool spares = options_.streams == 1 || options_.limit_arena > 0;
    return spares ? 0 : static_cast<std::int64_t>(device_->facts().memory_bytes) / kShare;
  }

  const ir::Graph& graph_;
  const PlanOptions& options_;
  const PreparedGraph prepared_;
  const std::shared_ptr<Device> device_;
  const std::optional<BoundMemory>& bound_;
  const std::shared_ptr<LibraryHandles> handles_;
  std::optional<Division> plain_;
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
  return Compilation(graph, options, std::move(prepared), std::move(device), bound).best();
}

std::unique_ptr<Backend> make_backend(const Libraries& (*libraries)()) {
  return std::make_unique<CudaBackend>(libraries);
}

}  // namespace cuda

std::unique_ptr<Backend> make_cuda_backend() { return cuda::make_backend(cuda::system_libraries); }

}  // namespace egret::backends
