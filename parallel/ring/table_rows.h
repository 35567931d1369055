// SPDX-License-Identifier: Apache-2.0
// Rules that make lookups in tables lookups in blocks (parallel/ring/lookup_in_blocks.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "parallel/ring/lookup_in_blocks.h"
#include "rules/tensors/saturate.h"

namespace egret::parallel {

// The name of the rule for so many blocks.
std::string name_of_table_rows(std::int64_t blocks);
// Rules that turn lookups in inputs and constants into blocked lookups, one for each count.
std::vector<rules::CompiledRule> rules_for_table_rows(rules::TensorEGraph& tensors,
                                                      std::span<const std::int64_t> counts);

}  // namespace egret::parallel
