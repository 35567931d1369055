// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/loops/block_transpose.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace egret::backends::cpu {
namespace {

TEST(BlockTranspose, PutsEveryBlockWhereTheTransposedMatrixHasIt) {
  for (const std::int64_t rows : {1, 2, 3, 5, 16, 30}) {
    for (const std::int64_t columns : {1, 2, 4, 7, 12, 33}) {
      for (const std::int64_t block : {1, 3, 64}) {
        std::vector<float> data(static_cast<std::size_t>(rows * columns * block));
        std::iota(data.begin(), data.end(), 0.0F);
        transpose_blocks(data, rows, columns, block);
        for (std::int64_t i = 0; i < rows * columns * block; ++i) {
          const std::int64_t c = i / block / rows, r = i / block % rows;
          const auto expected = static_cast<float>((r * columns + c) * block + i % block);
          ASSERT_EQ(data[static_cast<std::size_t>(i)], expected)
              << rows << " x " << columns << " blocks of " << block << ", at " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace egret::backends::cpu
