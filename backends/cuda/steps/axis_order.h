// SPDX-License-Identifier: Apache-2.0
// The axes of [N, C, spatial...], of which the second may lie behind all others.
#pragma once

#include "ir/core/attributes.h"

namespace egret::backends::cuda {

ir::Integers axes_in_order(int rank);
// The `perm` of a transpose to channels last, and back. Entry i of the latter is the position of
// axis i in the channels-last order.
ir::Integers channels_behind(int rank);
ir::Integers channels_before(int rank);

}  // namespace egret::backends::cuda
