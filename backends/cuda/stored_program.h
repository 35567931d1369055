// SPDX-License-Identifier: Apache-2.0
// A divided graph over values as they are stored (storage.h).
#pragma once

#include <vector>

#include "backends/cuda/steps/storage.h"
#include "backends/prepare.h"

namespace egret::backends::cuda {

// A graph with what encodes and decodes, and its regions in order; those of library steps are
// without a kernel.
struct StoredProgram {
  PreparedGraph prepared;
  std::vector<codegen::Region> regions;
  std::vector<LibraryRegion> library_steps;
};

// The graph's inputs and outputs lie as they are. What a library step, or an output, needs in
// another form than its maker leaves it in is converted by a kernel of its own.
// `steps`: those of the regions that are no kernels, as `storage` made them.
StoredProgram store(const PreparedGraph& prepared, const Storage& storage,
                    std::span<const codegen::Region> regions, std::vector<LibraryRegion> steps);

}  // namespace egret::backends::cuda
