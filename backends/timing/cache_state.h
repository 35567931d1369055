// SPDX-License-Identifier: Apache-2.0
// What the processor's caches hold when a timed run begins. A kernel in the middle of a graph finds
// the weights where the last run of the whole graph left them, in memory, and its inputs where the
// kernel before it left them, in the caches as far as they fit.
#pragma once

#include <span>

#include "ir/core/tensor.h"

namespace egret::backends {

// Fills the caches with other data: reads 64 MiB, some milliseconds. The data are kept from the
// first call on.
void sweep_caches();

// Reads all of the tensors, the last one last.
void touch(std::span<const ir::Tensor> tensors);

}  // namespace egret::backends
