// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/compilation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "backends/cuda/steps/join.h"
#include "backends/cuda/stored_program.h"
#include "backends/division.h"
#include "base/system/thread_pool.h"

namespace egret::backends::cuda {
namespace {

constexpr int kRounds = 2;  // of measuring two plans

// Infinite where it cannot be run.
double seconds_of(const base::Result<std::unique_ptr<CudaPlan>>& plan) {
  if (!plan.ok()) return HUGE_VAL;
  const auto seconds = (*plan)->measure();
  return seconds.ok() ? *seconds : HUGE_VAL;
}

}  // namespace

// Steps are prepared in parallel, since libraries compile kernels on the host; each thread enters
// the device's context first.
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

Compilation::Compilation(const ir::Graph& graph, const CompileOptions& options,
                         PreparedGraph prepared, std::shared_ptr<Device> device,
                         const std::optional<BoundMemory>& bound)
    : graph_(graph),
      options_(options),
      prepared_(std::move(prepared)),
      device_(std::move(device)),
      bound_(bound),
      handles_(open_libraries(*device_, options.precision)) {}

base::Result<std::unique_ptr<CudaPlan>> Compilation::best() {
  Way way = first_way();
  auto best = plan(way);
  if (!options_.search) return best;
  // The two plans take turns: the GPU was idle during compilation and needs a while to reach its
  // clock rate.
  const auto try_other = [&](const Way& other) {
    auto made = plan(other);  // fails where there is no room for two
    const auto turn = device_->take_turn();
    double least = HUGE_VAL, seconds = HUGE_VAL;
    for (int round = 0; round < kRounds; ++round) {
      least = std::min(least, seconds_of(best));
      seconds = std::min(seconds, seconds_of(made));
    }
    if (seconds >= least) return;
    best = std::move(made);
    way = other;
  };
  // Without such a step in the best plan, the plan that excludes the kind would be the same.
  const auto has = [&](bool Contested::*kind) { return best.ok() && (*best)->contested().*kind; };
  if (may_move_channels()) try_other(with_channels_moved(way));
  // Hill climbing over the contested kinds: drop each kind in turn and keep the faster plan.
  for (bool Contested::*kind : {&Contested::tails, &Contested::depthwise, &Contested::joins}) {
    if (!has(kind)) continue;
    Way without = way;
    without.taken.*kind = false;
    try_other(without);
  }
  if (best.ok() && (*best)->streams() > 1) {
    Way in_order = way;
    in_order.streams = 1;
    try_other(in_order);
  }
  return best;
}

// Divides the graph for the plans that will certainly be made, so that their steps can be prepared
// together with those of other compilations.
std::vector<LibraryStep*> Compilation::begin() {
  std::vector<LibraryStep*> steps;
  for (const Way& way : first_ways()) {
    auto storage = std::make_unique<Storage>(this->storage(way));
    Division made = division(way, *storage);
    begun_.push_back({way, std::move(storage), std::move(made)});
    for (const LibraryRegion& region : begun_.back().division.steps)
      steps.push_back(region.step.get());
  }
  return steps;
}

std::vector<const codegen::KernelSource*> Compilation::kernels() {
  std::vector<const codegen::KernelSource*> all;
  for (Begun& plan : begun_) {
    programs_.push_back(assembled(plan.way, *plan.storage, std::move(plan.division)));
    const auto own = kernels_of(programs_.back().program, programs_.back().library_steps);
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

Compilation::Way Compilation::first_way() const {
  const bool on_tensor_cores = options_.precision != Precision::kF32;
  return {
      .storage = {options_.precision == Precision::kBF16, on_tensor_cores && may_move_channels()},
      .taken = {.tails = on_tensor_cores && options_.fuse,
                .depthwise = true,
                .joins = options_.fuse},
      .streams = options_.streams};
}

Compilation::Way Compilation::with_channels_moved(Way way) {
  way.storage.channels_last = !way.storage.channels_last;
  return way;
}

std::vector<Compilation::Way> Compilation::first_ways() const {
  std::vector<Way> ways{first_way()};
  if (options_.search && may_move_channels()) ways.push_back(with_channels_moved(ways[0]));
  return ways;
}

bool Compilation::may_move_channels() const {
  return options_.blocked && std::ranges::any_of(plain().steps, [](const LibraryRegion& of) {
           return of.step->prefers_channels_last();
         });
}

std::vector<MakeStep> Compilation::makers(const Contested& taken) const {
  return step_makers(device_->libraries(), *handles_, options_.precision, taken);
}

// Values that share a place order the steps that touch them, on any stream. Sharing is therefore
// limited to steps that are ordered anyway, unless that takes much of the device's memory.
std::int64_t Compilation::most_apart(const Way& way) const {
  constexpr std::int64_t kShare = 4;
  const bool spares = way.streams == 1 || options_.limit_arena > 0;
  return spares ? 0 : static_cast<std::int64_t>(device_->facts().memory_bytes) / kShare;
}

// Emitted products of 16-bit and 8-bit values use them at any precision: such products are exact,
// and their sums are of 32 bits.
codegen::TensorCores Compilation::tensor_cores() const {
  constexpr int kFirstWithFragments = 80;
  return {.has = device_->facts().capability >= kFirstWithFragments,
          .tf32 = options_.precision != Precision::kF32};
}

// Library steps take their nodes first; the regions of emitted kernels divide the rest.
Compilation::Division Compilation::divided(const MakeRegion& make) const {
  if (!parts_.empty()) return divided_as_asked(make);
  Division division{find_library_steps(prepared_.graph, make), {}};
  codegen::RegionOptions how{
      .target = codegen::Target::kCuda, .fuse = options_.fuse, .tensor_cores = tensor_cores()};
  for (const LibraryRegion& step : division.steps) how.apart.push_back({step.nodes, step.inputs});
  division.regions = codegen::find_regions(prepared_.graph, how);
  return division;
}

// A part is a library step, or an emitted kernel, or, where neither takes it whole, each of its
// nodes is.
Compilation::Division Compilation::divided_as_asked(const MakeRegion& make) const {
  Division division;
  const auto add_step = [&](const std::vector<ir::NodeId>& nodes) {
    LibraryRegion step = make(nodes);
    if (step.step == nullptr) return false;
    codegen::Region& region = division.regions.emplace_back();
    region.nodes = step.nodes;
    region.inputs = step.inputs;
    region.empty = prepared_.graph.node(region.root()).type.elements() == 0;
    division.steps.push_back(std::move(step));
    return true;
  };
  for (const std::vector<ir::NodeId>& part : parts_) {
    if (add_step(part)) continue;
    auto regions = codegen::regions_of(prepared_.graph, part, codegen::Target::kCuda,
                                       {.tensor_cores = tensor_cores()});
    for (codegen::Region& region : regions) {
      if (regions.size() > 1 && add_step(region.nodes)) continue;
      division.regions.push_back(std::move(region));
    }
  }
  return division;
}

backends::Division Compilation::own_kernels() const {
  const Way way = first_way();
  backends::Division kernels;
  for (codegen::Region& region : division(way, storage(way)).regions)
    kernels.push_back(std::move(region.nodes));
  return kernels;
}

const Compilation::Division& Compilation::plain() const {
  if (!plain_) {
    plain_ =
        divided([&, makers = makers({.depthwise = true})](const std::vector<ir::NodeId>& nodes) {
          return make_step(prepared_.graph, nodes, makers);
        });
  }
  return *plain_;
}

Storage Compilation::storage(const Way& way) const {
  static const Division none;
  const Division& around = way.storage.channels_last ? plain() : none;
  return Storage(prepared_.graph, around.regions, around.steps, way.storage);
}

Compilation::Division Compilation::division(const Way& way, const Storage& storage) const {
  const std::vector<MakeStep> makers = this->makers(way.taken);
  Division made =
      divided([&](const std::vector<ir::NodeId>& nodes) { return storage.step(nodes, makers); });
  if (way.taken.joins && parts_.empty())
    join_parts(prepared_.graph, storage, makers, made.steps, made.regions);
  return made;
}

// The loop ends: a library does not propose again a step that it could not prepare.
base::Result<Compilation::Division> Compilation::prepared(const Way& way,
                                                          const Storage& storage) const {
  while (true) {
    Division made = division(way, storage);
    std::vector<LibraryStep*> steps;
    for (const LibraryRegion& region : made.steps) steps.push_back(region.step.get());
    EGRET_ASSIGN_OR_RETURN(const std::vector<char> fails,
                           prepare_steps(*device_, steps, options_.search));
    if (std::ranges::find(fails, 1) == fails.end()) return made;
  }
}

Compilation::Assembled Compilation::assembled(const Way& way, const Storage& storage,
                                              Division division) const {
  StoredProgram stored =
      store(prepared_, storage, division.regions, std::move(division.steps), tensor_cores());
  return {make_program(std::move(stored.prepared), std::move(stored.regions), most_apart(way)),
          std::move(stored.library_steps)};
}

// The loop ends: each refused plan adds descriptions to the refused ones, which makers skip.
base::Result<std::unique_ptr<CudaPlan>> Compilation::plan(const Way& way) const {
  const Storage storage = this->storage(way);
  CompileOptions options = options_;
  options.streams = way.streams;
  while (true) {
    EGRET_ASSIGN_OR_RETURN(Division division, prepared(way, storage));
    Assembled made = assembled(way, storage, std::move(division));
    EGRET_ASSIGN_OR_RETURN(std::unique_ptr<CudaPlan> plan,
                           CudaPlan::make(graph_, std::move(made.program), handles_,
                                          std::move(made.library_steps), options, device_, bound_));
    if (!plan->is_refused()) return plan;
  }
}

}  // namespace egret::backends::cuda
