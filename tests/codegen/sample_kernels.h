// SPDX-License-Identifier: Apache-2.0
// What the tests of emitted kernels emit.
#pragma once

#include <functional>
#include <vector>

#include "parallel/laws/some_application.h"
#include "tests/codegen/kernel_batch.h"

namespace egret::backends::codegen {

// Visits each operator on `times` random types and attributes for each number of operands, or on
// what its page shows where random ones never fit, with random inputs; where its value has
// elements. Fails the test for an operator that is left out.
using Visit =
    std::function<void(const parallel::Application& call, const std::vector<ir::Tensor>& inputs)>;
void for_every_operator(int times, const Visit& visit);
// All of them.
void add_every_operator(KernelBatch& batch, int times);
// Random trees of what fuses: pointwise operators, broadcasts, reductions, what is made of them,
// and moves; each as one kernel. Seeds from `first` on.
void add_random_regions(KernelBatch& batch, std::uint64_t count, std::uint64_t first = 0);

}  // namespace egret::backends::codegen
