// SPDX-License-Identifier: Apache-2.0
// The state of the processor's caches at the start of a timed run. In the middle of a graph, a
// kernel finds its weights in memory, where the last run of the whole graph left them. Its inputs
// are in the caches as far as they fit, where the kernel before left them.
#pragma once

#include <cstddef>
#include <span>

#include "ir/core/tensor.h"

namespace egret::backends {

// Fills the caches with other data: reads 64 MiB, some milliseconds. The data are kept from the
// first call on.
void sweep_caches();
// Evicts as much as reading that many bytes does, up to the same 64 MiB.
void sweep_caches(std::size_t bytes);

// Reads all of the tensors, the last one last.
void touch(std::span<const ir::Tensor> tensors);

}  // namespace egret::backends
