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
// Evicts as much as so many threads (0: as many as the process may use) do that read that many
// bytes together, up to the same 64 MiB. They are awake afterwards, as behind another plan's run.
void sweep_caches(std::size_t bytes, int threads = 1);

// As between two kernels of a run: a team of so many threads has just worked and waits for work. A
// thread that waits for some tens of microseconds sleeps, and the next kernel would be charged for
// its waking.
void wake_threads(int threads);

// Reads all of the tensors, the last one last.
void touch(std::span<const ir::Tensor> tensors);

}  // namespace egret::backends
