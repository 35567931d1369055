// SPDX-License-Identifier: Apache-2.0
// The NCCL groups of a plan's ranks.
#pragma once

#include <memory>
#include <vector>

#include "backends/cuda/api/device.h"
#include "base/status.h"
#include "runtime/nccl/communicator.h"
#include "runtime/ranks/rank_program.h"

namespace egret::runtime {

// One communicator for each axis of the mesh; nullptr for those of one device.
using AxisCommunicators = std::vector<std::unique_ptr<nccl::Communicator>>;

// All ranks call it. The first rank of each group sends its NCCL id to the others by `exchange`.
base::Result<AxisCommunicators> join_axes(const nccl::Library& nccl, const parallel::Mesh& mesh,
                                          std::int64_t rank, const Exchange& exchange,
                                          double time_limit_s);

// Whether NCCL can connect all ranks: it is loaded on each, and no two ranks share a GPU. All ranks
// call it and get the same answer. unavailable with the reason otherwise.
base::Status all_have_nccl(const nccl::Library& nccl, const backends::cuda::Device& device,
                           const parallel::Mesh& mesh, const Exchange& exchange);

}  // namespace egret::runtime
