// SPDX-License-Identifier: Apache-2.0
#include "ir/evaluate/micro_kernel.h"

namespace egret::ir {
namespace {

typedef double Vector4 __attribute__((vector_size(32)));
typedef double Vector8 __attribute__((vector_size(64)));

// A sum of outer products in registers: each step loads one column of the row panel and one row of
// the column panel, and each loaded number is used kRows or kColumns times. Inlined into functions
// with different targets, so each gets its own instruction set.
template <typename Tile, typename Vector>
[[gnu::always_inline]] inline void multiply(std::int64_t depth, const double* rows,
                                            const double* columns, double* tile) {
  constexpr std::int64_t kLanes = sizeof(Vector) / sizeof(double);
  static_assert(Tile::kColumns == 3 * kLanes);
  // 4 x 3 vectors of 4 (AVX2) or 8 x 3 vectors of 8 (AVX-512): 12 of 16 and 24 of 32 vector
  // registers. The rest holds the column vectors and the broadcast factor.
  Vector sums[Tile::kRows][3] = {};
  for (std::int64_t k = 0; k < depth; ++k) {
    const auto* b = reinterpret_cast<const Vector*>(columns + k * Tile::kColumns);
    const double* a = rows + k * Tile::kRows;
    const Vector b0 = b[0];
    const Vector b1 = b[1];
    const Vector b2 = b[2];
#pragma GCC unroll 8
    for (int r = 0; r < Tile::kRows; ++r) {
      // Broadcasts a[r]: scalar minus vector is a vector. Subtracting +0 keeps every value, -0
      // included.
      const Vector factor = a[r] - Vector{};
      sums[r][0] += factor * b0;
      sums[r][1] += factor * b1;
      sums[r][2] += factor * b2;
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < Tile::kRows; ++r) {
    auto* to = reinterpret_cast<Vector*>(tile + r * Tile::kColumns);
    for (int v = 0; v < 3; ++v) to[v] = sums[r][v];
  }
}

void small_baseline(std::int64_t depth, const double* rows, const double* columns, double* tile) {
  multiply<SmallTile, Vector4>(depth, rows, columns, tile);
}

#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] void small_avx2(std::int64_t depth, const double* rows,
                                            const double* columns, double* tile) {
  multiply<SmallTile, Vector4>(depth, rows, columns, tile);
}

[[gnu::target("avx512f")]] void large_avx512(std::int64_t depth, const double* rows,
                                             const double* columns, double* tile) {
  multiply<LargeTile, Vector8>(depth, rows, columns, tile);
}
#endif

}  // namespace

MultiplyPanels SmallTile::kernel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &small_avx2;
#endif
  return &small_baseline;
}

MultiplyPanels LargeTile::kernel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return &large_avx512;
#endif
  return nullptr;
}

}  // namespace egret::ir
