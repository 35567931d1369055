// SPDX-License-Identifier: Apache-2.0
// Values that are nothing but others side by side (a concatenation), each of which a library step
// computes: the steps may write them where they belong, and no kernel has to copy them there.
#pragma once

#include <optional>
#include <vector>

#include "backends/codegen/regions.h"
#include "backends/cuda/steps/storage.h"

namespace egret::backends::cuda {

// For each input where its elements lie in the output; nullopt where the output is not all of them
// side by side.
std::optional<std::vector<OutputPart>> find_join(const ir::Denotation& denotation,
                                                 std::span<const ir::TensorType> inputs);

// Has steps write parts of larger values where `makers` make such steps, all parts of a value or
// none; its region is then a joined one. A part that anything else reads stays as it is, as one
// that would begin where no value may.
void join_parts(const ir::Graph& graph, const Storage& storage, std::span<const MakeStep> makers,
                std::vector<LibraryRegion>& steps, std::vector<codegen::Region>& regions);

}  // namespace egret::backends::cuda
