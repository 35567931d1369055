// SPDX-License-Identifier: Apache-2.0
// A collective of a placed program as what one rank's GPU does for it (runtime/nccl/moves.h).
#pragma once

#include <cstdint>

#include "base/status.h"
#include "ir/core/tensor_type.h"
#include "parallel/machine/collective.h"
#include "runtime/nccl/moves.h"

namespace egret::runtime {

// For the rank with coordinate `here` of `devices` along the collective's axis, of a value of this
// type as it holds it. The result's rows beyond the ends of a tensor (Halo::Beyond) are left as
// they are: whoever makes the buffer fills it once.
nccl::Moves device_moves(const parallel::Collective& collective, std::int64_t devices,
                         std::int64_t here, const ir::TensorType& local);

}  // namespace egret::runtime
