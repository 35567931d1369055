// SPDX-License-Identifier: Apache-2.0
// Reports how a rank ends, even if it is killed. Under mpirun a rank consists of two processes: one
// works, the other waits for it. If a signal kills the first, the second names the rank and exits
// with the code for failed ranks, so that mpirun ends the others with that code too. If a signal
// stops the first, the second names the rank that all others wait for.
#pragma once

#include <string>

namespace egret::runtime {

// Prints a message about a rank, in the waiting process.
using Say = void (*)(const std::string& message);

// Call it before threads start. Returns in the working process; returns at once where mpirun did
// not start this process.
void watch_rank(Say say);

}  // namespace egret::runtime
