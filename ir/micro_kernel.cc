// SPDX-License-Identifier: Apache-2.0
#include "ir/micro_kernel.h"

namespace egret::ir {
namespace {

typedef double Vector __attribute__((vector_size(32)));

constexpr int kVectors = 3;  // of 4 lanes: the columns
static_assert(kVectors * 4 == kTileColumns);

[[gnu::always_inline]] inline void multiply(std::int64_t depth, const double* rows,
                                            const double* columns, double* tile) {
  Vector sums[kTileRows][kVectors] = {};
  for (std::int64_t k = 0; k < depth; ++k) {
    const auto* b = reinterpret_cast<const Vector*>(columns + k * kTileColumns);
    const double* a = rows + k * kTileRows;
    const Vector b0 = b[0];
    const Vector b1 = b[1];
    const Vector b2 = b[2];
    for (int r = 0; r < kTileRows; ++r) {
      const Vector factor = {a[r], a[r], a[r], a[r]};
      sums[r][0] += factor * b0;
      sums[r][1] += factor * b1;
      sums[r][2] += factor * b2;
    }
  }
  for (int r = 0; r < kTileRows; ++r) {
    auto* to = reinterpret_cast<Vector*>(tile + r * kTileColumns);
    for (int v = 0; v < kVectors; ++v) to[v] = sums[r][v];
  }
}

void multiply_baseline(std::int64_t depth, const double* rows, const double* columns,
                       double* tile) {
  multiply(depth, rows, columns, tile);
}

#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] void multiply_avx2(std::int64_t depth, const double* rows,
                                               const double* columns, double* tile) {
  multiply(depth, rows, columns, tile);
}

using Multiply = void (*)(std::int64_t, const double*, const double*, double*);
Multiply best() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &multiply_avx2
                                                                         : &multiply_baseline;
}
#endif

}  // namespace

void multiply_panels(std::int64_t depth, const double* rows, const double* columns, double* tile) {
#if defined(__x86_64__)
  static const Multiply kBest = best();
  kBest(depth, rows, columns, tile);
#else
  multiply_baseline(depth, rows, columns, tile);
#endif
}

}  // namespace egret::ir
