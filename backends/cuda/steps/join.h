// SPDX-License-Identifier: Apache-2.0
// Concatenations whose parts are results of library steps: the steps write their parts in place,
// and no kernel copies them.
#pragma once

#include <optional>
#include <vector>

#include "backends/codegen/regions.h"
#include "backends/cuda/steps/storage.h"

namespace egret::backends::cuda {

// The place of each input in the output; nullopt where the output is not a concatenation of all
// inputs.
std::optional<std::vector<OutputPart>> find_join(const ir::Denotation& denotation,
                                                 std::span<const ir::TensorType> inputs);

// Makes steps write parts of concatenations where `makers` support it: all parts of a value or
// none. The value's region is then a joined one. A part with another reader, or with an unaligned
// start, prevents it.
void join_parts(const ir::Graph& graph, const Storage& storage, std::span<const MakeStep> makers,
                std::vector<LibraryRegion>& steps, std::vector<codegen::Region>& regions);

}  // namespace egret::backends::cuda
