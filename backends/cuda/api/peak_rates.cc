// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/api/peak_rates.h"

namespace egret::backends::cuda {
namespace {

constexpr double kSecondsPerKernel = 2e-6;
constexpr double kFasterCache = 2;
// Of a GPU whose driver does not say.
constexpr double kClock = 2e9, kMemoryRate = 4e12;

// Operations a clock in a multiprocessor.
double width(int capability, Precision precision) {
  constexpr double kLanes = 2 * 128;
  // The rate of tensor cores, without sparsity. A multiply-add counts as two operations, here and
  // in kLanes.
  const double in_16_bits = capability < 80    ? 1024
                            : capability < 90  ? 2048
                            : capability < 100 ? 4096
                                               : 8192;
  switch (precision) {
    case Precision::kF32: return kLanes;
    case Precision::kTF32: return in_16_bits / 2;
    default: return in_16_bits;
  }
}

}  // namespace

PeakRates peak_rates(const DeviceFacts& facts, Precision precision) {
  const double clock = facts.clock_kilohertz > 0 ? 1e3 * facts.clock_kilohertz : kClock;
  const double bits = 2e3 * facts.memory_clock_kilohertz * facts.memory_bus_bits;  // both edges
  return {.flops_per_second = facts.multiprocessors * clock * width(facts.capability, precision),
          .bytes_per_second = kFasterCache * (bits > 0 ? bits / 8 : kMemoryRate),
          .seconds_per_kernel = kSecondsPerKernel};
}

}  // namespace egret::backends::cuda
