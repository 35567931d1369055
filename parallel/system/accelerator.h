// SPDX-License-Identifier: Apache-2.0
// The speed of one accelerator (GPU) as a function of a kernel's size.
//
// A matrix product is computed in tiles. A wave is one tile on each multiprocessor, and the last
// wave is rarely full (tile and wave quantization; NVIDIA, "Matrix Multiplication Background User's
// Guide"). A tile of height a and width b over depth k takes
//
//   (k + matmul_ramp) * 2 a b / (peak * matmul_efficiency * tile efficiency / multiprocessors)
//
// Products of 8 bits and fewer reach narrow_efficiency of that rate: scales are found and applied
// beside them.
// Rows of operands that are no multiple of 16 bytes are loaded in smaller pieces, which takes
// 1 / unaligned_efficiency of the time (same guide, section "Tensor Core requirements").
// Smaller tiles read more bytes per operation, so their efficiency is less. The library picks the
// tile, and the number of parts of k, that take the least time. A product is never faster than its
// bytes. All other kernels are limited by memory: bytes / (bytes_per_second * memory_efficiency).
// Each kernel adds seconds_per_kernel on the device. The host needs host_seconds_per_kernel to
// issue a kernel.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace egret::parallel {

enum class Precision : unsigned char { kF32, kTf32, kF16, kBf16, kFp8, kFp4 };
inline constexpr std::array<std::string_view, 6> kPrecisionNames = {"f32",  "tf32", "f16",
                                                                    "bf16", "fp8",  "fp4"};
double bytes_of(Precision precision);  // of an element in memory; 0.5 for fp4

struct Accelerator {
  std::string name;
  std::array<double, kPrecisionNames.size()> peak_flops_per_second =
      {};  // by precision, dense; 0: not supported
  std::int64_t multiprocessors = 108;
  double memory_bytes = 0;
  double reserved_bytes = 0;       // of memory, for contexts and libraries
  double bytes_per_second = 1e12;  // of memory, by the data sheet
  double matmul_efficiency = 0.85;
  double narrow_efficiency = 1;     // further factor for fp8 and fp4
  double matmul_ramp = 0;           // elements of k
  double unaligned_efficiency = 1;  // where rows are no multiple of 16 bytes
  double memory_efficiency = 0.8;
  double seconds_per_kernel = 0;       // between two kernels that are ready
  double host_seconds_per_kernel = 0;  // 0: launches are free, as in recorded graphs
  double host_seconds_per_collective = 0;
  double host_seconds_per_step = 0;  // of the optimizer, and of the loop over steps
  double overlap_slowdown = 0;       // a kernel takes 1 + this, while its device communicates

  // Of a precision; unsupported ones are computed in the next wider one.
  double peak(Precision precision) const;
  // The part of that peak which full waves of the largest tile reach.
  double product_efficiency(Precision precision) const;
  // A batch of products [m, k] x [k, n].
  double matmul_seconds(double batch, double m, double n, double k, Precision precision) const;
  double memory_seconds(double bytes) const;
};

}  // namespace egret::parallel
