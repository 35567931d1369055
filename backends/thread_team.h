// SPDX-License-Identifier: Apache-2.0
// OpenMP's team of threads, which kernels use.
#pragma once

namespace egret::backends {

// Makes the calling thread's team, of so many threads with itself, unless it had one of this size.
// Throws std::bad_alloc where the system refuses a thread. To be called before the first parallel
// region of that size: libgomp ends the program where it gets no thread.
void ensure_team(int threads);

}  // namespace egret::backends
