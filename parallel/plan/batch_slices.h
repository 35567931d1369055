// SPDX-License-Identifier: Apache-2.0
// A program whose inputs and outputs are batches computes the samples one after the other just as
// well as together, where no operator mixes them: by the laws of placement (parallel/laws/laws.h),
// as many devices as samples could each take one, and never speak to each other. One device that
// takes their place, in turn, finds a sample's values still in its caches.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/graph/graph.h"

namespace egret::parallel {

struct BatchSlices {
  ir::Graph slice;         // the program on one slice; its nodes have the numbers of the whole's
  std::int64_t count = 1;  // slices in the whole
};

// Slices of one sample: of row i of the first axis of each input, and of each output, where the
// first axis of the first input has `count` rows. The first axis of the others may have a multiple
// of that: a sample's rows are one behind the other. Nullopt where there is but one sample, or none
// of the laws known says that samples do not mix. O(nodes), and their laws.
//
//   whole(x)[i-th slice of rows]  =  slice(x[i-th slice of rows])
std::optional<BatchSlices> batch_slices(const ir::Graph& whole);

}  // namespace egret::parallel
