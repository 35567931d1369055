// SPDX-License-Identifier: Apache-2.0
// How long threads of OpenMP wait in a loop before they sleep.
//
// libgomp lets a thread that waits spin 300,000 times, which takes about 10 ms. Beside another busy
// process that time is lost: the spinning thread holds the processor on which the thread that it
// waits for could run. If there are more OpenMP threads than processors, libgomp spins 100 times
// (its documentation of GOMP_SPINCOUNT), which is more than the time between two kernels of a plan.
#pragma once

namespace egret::backends::cpu {

// From now on, threads of this process's libgomp sleep soon when they wait. Once for a process; it
// makes teams count as more threads than processors by a team that sleeps. OMP_WAIT_POLICY and
// GOMP_SPINCOUNT, where they are set, decide instead.
void keep_spins_short();

}  // namespace egret::backends::cpu
