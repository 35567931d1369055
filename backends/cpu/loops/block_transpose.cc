// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/loops/block_transpose.h"

#include <algorithm>
#include <vector>

#include "base/check.h"

namespace egret::backends::cpu {

// In-place transposition by following the cycles of the permutation. Each block is moved once; the
// extra memory is one bit per block and one block.
void transpose_blocks(std::span<float> data, std::int64_t rows, std::int64_t columns,
                      std::int64_t block) {
  EGRET_CHECK(static_cast<std::int64_t>(data.size()) == rows * columns * block,
              "a matrix of whole blocks");
  const auto at = [&](std::int64_t position) { return data.data() + position * block; };
  // The source position of the block that belongs at a position of the transposed matrix.
  const auto source_of = [&](std::int64_t position) {
    return position % rows * columns + position / rows;
  };
  std::vector<bool> moved(static_cast<std::size_t>(rows * columns), false);
  std::vector<float> first(static_cast<std::size_t>(block));
  // Follow each cycle once: save its first block, pull every other block to its place, restore.
  for (std::int64_t start = 0; start < rows * columns; ++start) {
    if (moved[static_cast<std::size_t>(start)]) continue;
    std::copy_n(at(start), block, first.data());
    std::int64_t to = start;
    for (std::int64_t from = source_of(to); from != start; to = from, from = source_of(to)) {
      std::copy_n(at(from), block, at(to));
      moved[static_cast<std::size_t>(to)] = true;
    }
    std::copy_n(first.data(), block, at(to));
    moved[static_cast<std::size_t>(to)] = true;
  }
}

}  // namespace egret::backends::cpu
