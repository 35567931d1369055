// SPDX-License-Identifier: Apache-2.0
#include "parallel/system/accelerator.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace egret::parallel {
namespace {

struct Tile {
  double rows, columns;
  double efficiency;  // of the largest tile's rate
};
// The tiles of cuBLAS and CUTLASS for 16-bit operands, and usual relative rates.
constexpr std::array<Tile, 7> kTiles = {{{256, 128, 1.0},
                                         {128, 256, 1.0},
                                         {128, 128, 0.92},
                                         {128, 64, 0.75},
                                         {64, 128, 0.75},
                                         {64, 64, 0.6},
                                         {32, 32, 0.3}}};
constexpr double kLeastDepth = 256;  // of one part of k

// The precision itself, or the next wider one that has a peak.
std::size_t supported(const Accelerator& device, Precision precision) {
  auto each = static_cast<std::size_t>(precision);
  while (each > 0 && device.peak_flops_per_second[each] <= 0) --each;
  return each;
}

}  // namespace

double bytes_of(Precision precision) {
  constexpr std::array<double, kPrecisionNames.size()> kBytes = {4, 4, 2, 2, 1, 0.5};
  return kBytes[static_cast<std::size_t>(precision)];
}

double Accelerator::peak(Precision precision) const {
  return peak_flops_per_second[supported(*this, precision)];
}

double Accelerator::product_efficiency(Precision precision) const {
  const bool narrow = supported(*this, precision) >= static_cast<std::size_t>(Precision::kFp8);
  return matmul_efficiency * (narrow ? narrow_efficiency : 1);
}

double Accelerator::matmul_seconds(double batch, double m, double n, double k,
                                   Precision precision) const {
  const auto units = static_cast<double>(multiprocessors);
  const double step = 16 / bytes_of(precision);
  const bool aligned = std::fmod(n, step) == 0 && std::fmod(k, step) == 0;
  const double rate = peak(precision) * product_efficiency(precision) *
                      (aligned ? 1 : unaligned_efficiency) / units;
  double least = std::numeric_limits<double>::infinity();
  for (const Tile& tile : kTiles) {
    const double tiles = batch * std::ceil(m / tile.rows) * std::ceil(n / tile.columns);
    const double operations = 2 * tile.rows * tile.columns / (rate * tile.efficiency);
    for (const double parts : {1.0, 2.0, 4.0}) {
      if (parts > 1 && (tiles * parts > 2 * units || k / parts < kLeastDepth)) break;
      const double waves = std::ceil(tiles * parts / units);
      least = std::min(least, waves * (k / parts + matmul_ramp) * operations);
    }
  }
  const double bytes = batch * (m * k + k * n + m * n) * bytes_of(precision);
  return seconds_per_kernel + std::max(least, bytes / (bytes_per_second * memory_efficiency));
}

double Accelerator::memory_seconds(double bytes) const {
  return seconds_per_kernel + bytes / (bytes_per_second * memory_efficiency);
}

}  // namespace egret::parallel
