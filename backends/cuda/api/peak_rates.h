// SPDX-License-Identifier: Apache-2.0
// Upper bounds on a GPU's rates, from the properties that its driver reports.
#pragma once

#include "backends/backend.h"
#include "backends/cuda/api/device.h"

namespace egret::backends::cuda {

// Arithmetic: tensor cores where the precision allows them, by generation (dense rates of NVIDIA's
// data sheets: an H100 does 4096 operations of 16 bits a clock in each multiprocessor), else 128
// lanes. Traffic: twice the memory's bandwidth, about that of the L2 cache. Start of a recorded
// kernel: 2 microseconds, assumed. (Nearly empty kernels of an H200 took 3.3 between events, of
// which the events were about 2: experiments/results/gpu/.)
PeakRates peak_rates(const DeviceFacts& facts, Precision precision);

}  // namespace egret::backends::cuda
