// SPDX-License-Identifier: Apache-2.0
// From a graph to plans for it, and to the fastest of them.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backends/codegen/regions.h"
#include "backends/cuda/cuda_plan.h"
#include "backends/cuda/steps/storage.h"
#include "backends/prepare.h"

namespace egret::backends::cuda {

// With what takes libraries long to make, several steps at a time; which of them the libraries then
// cannot do after all.
base::Result<std::vector<char>> prepare_steps(const Device& device,
                                              std::span<LibraryStep* const> steps, bool search);

// All plans for one graph. What is given by reference outlives it.
class Compilation {
 public:
  Compilation(const ir::Graph& graph, const PlanOptions& options, PreparedGraph prepared,
              std::shared_ptr<Device> device, const std::optional<BoundMemory>& bound);

  // What may be faster, and may be not, is measured, unless there is to be no search: channels last
  // around convolutions, what libraries and emitted kernels both can do, and steps beside each
  // other.
  base::Result<std::unique_ptr<CudaPlan>> best();

  // The plans that are made first, begun: what is still to be prepared of them.
  std::vector<LibraryStep*> begin();
  // And once it is: the kernels of each, which live as long as this.
  std::vector<const codegen::KernelSource*> kernels();

 private:
  // How values lie, which contested steps there shall be, and how many streams at most.
  struct Way {
    StorageOptions storage;
    Contested taken;
    int streams;
  };
  struct Division {
    std::vector<LibraryRegion> steps;
    std::vector<codegen::Region> regions;
  };
  struct Begun {
    Way way;
    std::unique_ptr<Storage> storage;
    Division division;
  };
  struct Assembled {
    codegen::Program program;
    std::vector<LibraryRegion> library_steps;
  };

  Way first_way() const;
  static Way with_channels_moved(Way way);
  std::vector<Way> first_ways() const;
  bool may_move_channels() const;
  std::vector<MakeStep> makers(const Contested& taken) const;
  std::int64_t most_apart(const Way& way) const;

  Division divided(const MakeRegion& make) const;
  const Division& plain() const;  // of the values as the graph says
  Storage storage(const Way& way) const;
  Division division(const Way& way, const Storage& storage) const;
  // With steps that are ready. Where it shows that a library cannot do what it seemed to, that is
  // known the next time.
  base::Result<Division> prepared(const Way& way, const Storage& storage) const;
  Assembled assembled(const Way& way, const Storage& storage, Division division) const;
  base::Result<std::unique_ptr<CudaPlan>> plan(const Way& way) const;

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

}  // namespace egret::backends::cuda
