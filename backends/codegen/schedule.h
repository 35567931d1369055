// SPDX-License-Identifier: Apache-2.0
// Which loops of a nest are shared out, and how.
//
// The output's variables are divided into rows and lanes. A reduction that depends on the rows
// alone (the maximum and the sum of a softmax, the moments of a norm) is computed once a row, and
// its result serves all lanes of that row. On a GPU a row belongs to a block of threads, which
// compute such a reduction together and then share out the lanes; on the host a row is one step of
// the outer loop, and rows are shared out to threads. Without such reductions a GPU's threads take
// one element each, or one pack (packing.h).
#pragma once

#include <cstdint>
#include <vector>

#include "backends/codegen/packing.h"
#include "ir/nest/loop_nest.h"

namespace egret::backends::codegen {

enum class Target : std::uint8_t { kHost, kCuda };

struct Schedule {
  bool by_rows = false;          // false: rows are empty, the lanes are spread over all threads
  std::vector<int> rows, lanes;  // symbols of output variables, outermost first
  std::int64_t row_count = 1;    // products of extents
  std::int64_t lane_count = 1;
  // Elements of a pack (packing.h) of rows, whose reductions are then of packs, or else of lanes.
  int row_width = 1, lane_width = 1;
  // CUDA: the launch. Threads are a multiple of 32.
  std::int64_t blocks = 1;
  int threads = 1;
};

// `packing`: of the nest. Time: linear in its size.
Schedule schedule(const ir::LoopNest& nest, Target target, const Packing& packing);

}  // namespace egret::backends::codegen
