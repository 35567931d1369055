// SPDX-License-Identifier: Apache-2.0
// How long OpenMP's threads wait in a loop before they sleep.
//
// libgomp lets a waiting thread spin 300,000 times, which takes milliseconds. Beside another busy
// process that time is lost: the spinning thread holds the processor that the awaited thread needs.
// Sleeping after 2,000 spins, longer than the time between two kernels, costs nothing on an idle
// machine (experiments/busy-machine). libgomp reads the number from the environment before main()
// begins.
#pragma once

namespace egret::tools {

// Starts the program again with GOMP_SPINCOUNT set, unless the user set it or OMP_WAIT_POLICY,
// there is one processor, or the verb runs no models for long. Returns in the program that goes on;
// GOMP_SPINCOUNT is no longer in its environment then, so that children have libgomp's own number.
void shorten_spins(char** argv);

}  // namespace egret::tools
