// SPDX-License-Identifier: Apache-2.0
// Batch slicing. If no operator mixes the samples of a batch, a program computes them one after the
// other as well as together. The placement laws (parallel/laws/laws.h) decide this: one device per
// sample would need no communication. A single device that takes the samples in turn finds each
// one's values still in its caches.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/graph/graph.h"

namespace egret::parallel {

struct BatchSlices {
  ir::Graph slice;         // the program on one slice, with the whole's node numbers
  std::int64_t count = 1;  // slices in the whole
};

// Slices of one sample: row i of the first axis of each input and output, where the first axis of
// the first input has `count` rows. The first axis of others may have a multiple of `count` rows,
// each sample's rows adjacent. Nullopt for one sample, or where no known law separates the samples.
// O(nodes), and their laws.
//
//   whole(x)[i-th slice of rows]  =  slice(x[i-th slice of rows])
std::optional<BatchSlices> batch_slices(const ir::Graph& whole);
// The same with COUNT slices of several samples each: the first axis of each input and output has a
// multiple of COUNT rows. COUNT 1 gives the program itself.
std::optional<BatchSlices> batch_slices(const ir::Graph& whole, std::int64_t count);

}  // namespace egret::parallel
