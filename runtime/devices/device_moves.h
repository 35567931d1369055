// SPDX-License-Identifier: Apache-2.0
// A collective of a placed program as the operations of one rank's GPU (runtime/nccl/moves.h).
#pragma once

#include <cstdint>

#include "base/status.h"
#include "ir/core/tensor_type.h"
#include "parallel/machine/collective.h"
#include "runtime/nccl/moves.h"

namespace egret::runtime {

// For the rank with coordinate `here` of `devices` along the collective's axis; `local` is the type
// of its share. Rows of the result beyond the ends of the tensor (Halo::Beyond) are not written:
// the owner of the buffer fills them once.
nccl::Moves device_moves(const parallel::Collective& collective, std::int64_t devices,
                         std::int64_t here, const ir::TensorType& local);

}  // namespace egret::runtime
