// SPDX-License-Identifier: Apache-2.0
// The innermost loop of matrix products in f64: a tile of the result held in registers while it
// sums over the depth (Goto, van de Geijn, "Anatomy of high-performance matrix multiplication", ACM
// TOMS 34(3), 2008). Kernels are compiled for several instruction sets and chosen by the processor
// at run time; they may differ in the last bits.
#pragma once

#include <cstdint>

namespace egret::ir {

// tile[r*columns + c] = sum k < depth. rows[k*rows + r] * columns[k*columns + c]. All are 64-byte
// aligned.
using MultiplyPanels = void (*)(std::int64_t depth, const double* rows, const double* columns,
                                double* tile);

struct SmallTile {
  static constexpr std::int64_t kRows = 4;
  static constexpr std::int64_t kColumns = 12;
  static MultiplyPanels kernel();  // with AVX2 and FMA, or the baseline's
};

struct LargeTile {
  static constexpr std::int64_t kRows = 8;
  static constexpr std::int64_t kColumns = 24;
  static MultiplyPanels kernel();  // with AVX-512; null where the processor has none
};

}  // namespace egret::ir
