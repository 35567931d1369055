// SPDX-License-Identifier: Apache-2.0
// The CUDA backend over given libraries: the system's, or those that a test brings.
#pragma once

#include <memory>
#include <optional>

#include "backends/backend.h"
#include "backends/cuda/cuda_plan.h"

namespace egret::backends::cuda {

// Loads the system's libraries when it is first used. `libraries` outlive it.
std::unique_ptr<Backend> make_backend(const Libraries& (*libraries)());

// A plan on a device. Errors: what is wrong with the graph, or why there is no device. `backend`
// computes constants. With `bound`, the graph's inputs and outputs lie there, and the plan runs by
// CudaPlan::launch().
base::Result<std::unique_ptr<CudaPlan>> compile_on(const Backend& backend,
                                                   base::Result<std::shared_ptr<Device>> opened,
                                                   const ir::Graph& graph,
                                                   const PlanOptions& options,
                                                   std::optional<BoundMemory> bound);

}  // namespace egret::backends::cuda
