// SPDX-License-Identifier: Apache-2.0
// Collectives between the GPUs of ranks, through NCCL, for the measurement of links
// (runtime/ranks/link_profile.h).
#pragma once

#include <memory>

#include "backends/cuda/api/device.h"
#include "base/status.h"
#include "runtime/devices/device_groups.h"
#include "runtime/ranks/link_profile.h"

namespace egret::runtime {

// Data are as DeviceRun moves them: packed and unpacked on the GPU where a tensor is cut in an
// inner dimension. A run ends when the GPU has finished; errors are those of Communicator.
std::unique_ptr<LinkTransport> make_device_transport(std::shared_ptr<backends::cuda::Device> device,
                                                     const parallel::Mesh& mesh, std::int64_t rank,
                                                     AxisCommunicators communicators,
                                                     double time_limit_s);

// profile_links() between GPUs. Errors also: unavailable, the same on all ranks, where not every
// rank has NCCL and a GPU of its own.
base::Result<LinkProfile> profile_device_links(const RankPlace& place,
                                               const LinkProfileOptions& options,
                                               const nccl::Library& nccl,
                                               std::shared_ptr<backends::cuda::Device> device,
                                               double time_limit_s);

}  // namespace egret::runtime
