// SPDX-License-Identifier: Apache-2.0
// The division of a nest's loops among blocks and threads.
//
// The output's variables are divided into rows and lanes. A reduction that depends on the rows only
// (the maximum and the sum of a softmax, the moments of a norm) is computed once a row and serves
// all lanes of that row. On a GPU a block of threads takes a row: its threads compute such a
// reduction together and then divide the lanes. On the host a row is one iteration of the outer
// loop, and threads divide the rows. Without such reductions each GPU thread takes one element or
// one pack (packing.h).
#pragma once

#include <cstdint>
#include <vector>

#include "backends/codegen/text/packing.h"
#include "ir/nest/loop_nest.h"

namespace egret::backends::codegen {

enum class Target : std::uint8_t { kHost, kCuda };

struct Schedule {
  bool by_rows = false;          // false: rows are empty, the lanes are spread over all threads
  std::vector<int> rows, lanes;  // symbols of output variables, outermost first
  std::int64_t row_count = 1;    // products of extents
  std::int64_t lane_count = 1;
  // Pack width of rows (reductions are then computed for whole packs), or else of lanes
  // (packing.h).
  int row_width = 1, lane_width = 1;
  // CUDA: the launch. Threads are a multiple of 32.
  std::int64_t blocks = 1;
  int threads = 1;
};

// `packing`: of the nest. Time: linear in its size.
Schedule schedule(const ir::LoopNest& nest, Target target, const Packing& packing);

}  // namespace egret::backends::codegen
