// SPDX-License-Identifier: Apache-2.0
// Compiles a graph to candidate plans and selects the fastest.
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

// Prepares the library steps, several at a time: this is the slow part of the libraries. Returns
// for each step whether its library cannot compute it after all.
base::Result<std::vector<char>> prepare_steps(const Device& device,
                                              std::span<LibraryStep* const> steps, bool search);

// All plans for one graph. Arguments given by reference must outlive it.
class Compilation {
 public:
  Compilation(const ir::Graph& graph, const CompileOptions& options, PreparedGraph prepared,
              std::shared_ptr<Device> device, const std::optional<BoundMemory>& bound);
  // Instead of the compilation's own division into kernels: ascending nodes of the prepared graph,
  // each in one part, in an order of computation.
  void divide_as(backends::Division parts) { parts_ = std::move(parts); }
  // The nodes of the prepared graph that each kernel of the first plan computes.
  backends::Division own_kernels() const;

  // The fastest plan. With search, variants whose benefit is uncertain are measured: channels last
  // around convolutions, steps that both libraries and emitted kernels can compute, and parallel
  // streams.
  base::Result<std::unique_ptr<CudaPlan>> best();

  // Begins the plans that are made first and returns the library steps that still need preparation.
  std::vector<LibraryStep*> begin();
  // After the preparation: the emitted kernels of these plans; they live as long as this object.
  std::vector<const codegen::KernelSource*> kernels();

 private:
  // A variant: storage of values, contested steps to use, and the most streams.
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

  codegen::TensorCores tensor_cores() const;
  Division divided(const MakeRegion& make) const;
  Division divided_as_asked(const MakeRegion& make) const;
  const Division& plain() const;  // for the graph's own layouts
  Storage storage(const Way& way) const;
  Division division(const Way& way, const Storage& storage) const;
  // A division whose steps are prepared. If a library turns out unable to compute a step, later
  // divisions avoid it.
  base::Result<Division> prepared(const Way& way, const Storage& storage) const;
  Assembled assembled(const Way& way, const Storage& storage, Division division) const;
  base::Result<std::unique_ptr<CudaPlan>> plan(const Way& way) const;

  const ir::Graph& graph_;
  const CompileOptions& options_;
  const PreparedGraph prepared_;
  const std::shared_ptr<Device> device_;
  const std::optional<BoundMemory>& bound_;
  const std::shared_ptr<LibraryHandles> handles_;
  backends::Division parts_;  // empty: the compilation's own
  mutable std::optional<Division> plain_;
  std::deque<Begun> begun_;
  std::deque<Assembled> programs_;
};

}  // namespace egret::backends::cuda
