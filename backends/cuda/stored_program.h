// SPDX-License-Identifier: Apache-2.0
// A partitioned graph over values in their storage form (storage.h).
#pragma once

#include <vector>

#include "backends/cuda/steps/storage.h"
#include "backends/prepare.h"

namespace egret::backends::cuda {

// The graph with its encoding and decoding operators, and its regions in order. Regions of library
// steps have no kernel.
struct StoredProgram {
  PreparedGraph prepared;
  std::vector<codegen::Region> regions;
  std::vector<LibraryRegion> library_steps;
};

// The graph's inputs and outputs keep their form. A value that a library step or an output needs in
// another form is converted by a kernel of its own. `steps`: the regions that are library steps, as
// `storage` made them; `cores`: what kernels may use.
StoredProgram store(const PreparedGraph& prepared, const Storage& storage,
                    std::span<const codegen::Region> regions, std::vector<LibraryRegion> steps,
                    const codegen::TensorCores& cores);

}  // namespace egret::backends::cuda
