// SPDX-License-Identifier: Apache-2.0
// How a rank ends, said even where it cannot say so itself. Under mpirun a rank is two processes:
// one that works, and one that waits for it. When a signal ends the first, the second names the
// rank and ends with the exit code for failed ranks, so that mpirun ends the others with that code
// too; when one stops it, the second says which rank it is that all others wait for.
#pragma once

#include <string>

namespace egret::runtime {

// Prints a message about a rank, in the process that waits for it.
using Say = void (*)(const std::string& message);

// To be called before there are threads. Returns in the process that works, and at once where
// mpirun did not start this process.
void watch_rank(Say say);

}  // namespace egret::runtime
