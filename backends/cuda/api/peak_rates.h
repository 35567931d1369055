// SPDX-License-Identifier: Apache-2.0
// What a GPU can do at most, by what its driver says of it.
#pragma once

#include "backends/backend.h"
#include "backends/cuda/api/device.h"

namespace egret::backends::cuda {

// Arithmetic: that of tensor cores where the precision allows them, by the generation (dense rates
// of NVIDIA's data sheets: an H100 does 4096 operations of 16 bits a clock in each of its
// multiprocessors), else of 128 lanes. Traffic: twice the memory's, as what lies in the L2 cache
// comes about so fast. The start of a kernel among recorded ones: 2 microseconds, assumed. (Kernels
// of an H200 that do next to nothing took 3.3 between events, which were some 2 of that:
// experiments/results/gpu/.)
PeakRates peak_rates(const DeviceFacts& facts, Precision precision);

}  // namespace egret::backends::cuda
