// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/cuda_backend.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <iterator>
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

  void make_ready(std::span<const ir::Graph> graphs, const PlanOptions& options) const override;
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

// With what takes libraries long to make, several steps at a time; which of them the libraries then
// cannot do after all.
base::Result<std::vector<char>> prepare_steps(const Device& device,
                                              std::span<LibraryStep* const> steps, bool search) {
  std::vector<char> fails(steps.size(), 0);
  std::vector<base::Status> entered(steps.size(), base::ok());
  base::shared_pool().parallel_for(steps.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      entered[i] = device.enter();
      fails[i] = entered[i].ok() && !steps[i]->prepare(search) ? 1 : 0;
    }
  });
  for (const base::Status& status : entered) EGRET_RETURN_IF_ERROR(status);
  return fails;
}

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
    Way way = first_way();
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
    if (may_move_channels()) try_other(with_channels_moved(way));
    for (bool Contested::*kind : {&Contested::tails, &Contested::depthwise, &Contested::joins}) {
      if (!has(kind)) continue;
      Way without = way;
      without.taken.*kind = false;
      try_other(without);
    }
    return best;
  }

  // The plans that are made first, begun: what is still to be prepared of them.
  std::vector<LibraryStep*> begin() {
    std::vector<LibraryStep*> steps;
    for (const Way& way : first_ways()) {
      auto storage = std::make_unique<Storage>(this->storage(way));
      Division made = division(way, *storage);
      begun_.push_back({std::move(storage), std::move(made)});
      for (const LibraryRegion& region : begun_.back().division.steps)
        steps.push_back(region.step.get());
    }
    return steps;
  }
  // And once it is: the kernels of each, which live as long as this.
  std::vector<std::vector<const codegen::KernelSource*>> kernels() {
    std::vector<std::vector<const codegen::KernelSource*>> all;
    for (Begun& plan : begun_) {
      programs_.push_back(assembled(*plan.storage, std::move(plan.division)));
      all.push_back(kernels_of(programs_.back().program, programs_.back().library_steps));
    }
    return all;
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
  struct Begun {
    std::unique_ptr<Storage> storage;
    Division division;
  };
  struct Assembled {
    codegen::Program program;
    std::vector<LibraryRegion> library_steps;
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

  Way first_way() const {
    const bool on_tensor_cores = options_.precision != Precision::kF32;
    return {
        .storage = {options_.precision == Precision::kBF16, on_tensor_cores && may_move_channels()},
        .taken = {
            .tails = on_tensor_cores && options_.fuse, .depthwise = true, .joins = options_.fuse}};
  }
  static Way with_channels_moved(Way way) {
    way.storage.channels_last = !way.storage.channels_last;
    return way;
  }
  std::vector<Way> first_ways() const {
    std::vector<Way> ways{first_way()};
    if (options_.search && may_move_channels()) ways.push_back(with_channels_moved(ways[0]));
    return ways;
  }

  std::vector<MakeStep> makers(const Contested& taken) const {
    return step_makers(device_->libraries(), *handles_, options_.precision, taken);
  }

  // Of the values as the graph says.
  const Division& plain() const {
    if (!plain_) {
      plain_ =
          divided([&, makers = makers({.depthwise = true})](const std::vector<ir::NodeId>& nodes) {
            return make_step(prepared_.graph, nodes, makers);
          });
    }
    return *plain_;
  }
  bool may_move_channels() const {
    return options_.blocked && std::ranges::any_of(plain().steps, [](const LibraryRegion& of) {
             return of.step->prefers_channels_last();
           });
  }

  Storage storage(const Way& way) const {
    static const Division none;
    const Division& around = way.storage.channels_last ? plain() : none;
    return Storage(prepared_.graph, around.regions, around.steps, way.storage);
  }

  Division division(const Way& way, const Storage& storage) const {
    const std::vector<MakeStep> makers = this->makers(way.taken);
    Division made =
        divided([&](const std::vector<ir::NodeId>& nodes) { return storage.step(nodes, makers); });
    if (way.taken.joins) join_parts(prepared_.graph, storage, makers, made.steps, made.regions);
    return made;
  }

  // Where it shows that a library cannot do what it seemed to, that is known the next time.
  base::Result<Division> prepared(const Way& way, const Storage& storage) const {
    while (true) {
      Division made = division(way, storage);
      std::vector<LibraryStep*> steps;
      for (const LibraryRegion& region : made.steps) steps.push_back(region.step.get());
      EGRET_ASSIGN_OR_RETURN(const std::vector<char> fails,
                             prepare_steps(*device_, steps, options_.search));
      if (std::ranges::find(fails, 1) == fails.end()) return made;
    }
  }

  Assembled assembled(const Storage& storage, Division division) const {
    StoredProgram stored = store(prepared_, storage, division.regions, std::move(division.steps));
    return {make_program(std::move(stored.prepared), std::move(stored.regions), most_apart()),
            std::move(stored.library_steps)};
  }

  base::Result<std::unique_ptr<CudaPlan>> plan(const Way& way) const {
    const Storage storage = this->storage(way);
    EGRET_ASSIGN_OR_RETURN(Division division, prepared(way, storage));
    Assembled made = assembled(storage, std::move(division));
    return CudaPlan::make(graph_, std::move(made.program), handles_, std::move(made.library_steps),
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
  mutable std::optional<Division> plain_;
  std::deque<Begun> begun_;
  std::deque<Assembled> programs_;
};

bool takes_none(const ir::Graph& /*graph*/, ir::NodeId /*id*/) { return false; }

void CudaBackend::make_ready(std::span<const ir::Graph> graphs, const PlanOptions& options) const {
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
  std::vector<std::vector<const codegen::KernelSource*>> kernels;
  for (const auto& compilation : compilations) {
    auto own = compilation->kernels();
    std::ranges::move(own, std::back_inserter(kernels));
  }
  KernelModules::compile(**device, kernels);
}

}  // namespace

base::Result<std::unique_ptr<CudaPlan>> compile_on(const Backend& backend,
                                                   base::Result<std::shared_ptr<Device>> opened,
                                                   const ir::Graph& graph,
                                                   const PlanOptions& options,
                                                   std::optional<BoundMemory> bound) {
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
