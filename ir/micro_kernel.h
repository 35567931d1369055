// SPDX-License-Identifier: Apache-2.0
// The innermost loop of matrix products in f64: a tile of 4 rows and 12 columns held in registers
// while it sums over the depth (Goto, van de Geijn, "Anatomy of high-performance matrix
// multiplication", ACM TOMS 34(3), 2008). Compiled for AVX2 with FMA and for the baseline, chosen
// by the processor at run time; the two may differ in the last bits.
#pragma once

#include <cstdint>

namespace egret::ir {

inline constexpr std::int64_t kTileRows = 4;
inline constexpr std::int64_t kTileColumns = 12;

// tile[r*12 + c] = sum k < depth. rows[k*4 + r] * columns[k*12 + c]. All are 32-byte aligned.
void multiply_panels(std::int64_t depth, const double* rows, const double* columns, double* tile);

}  // namespace egret::ir
