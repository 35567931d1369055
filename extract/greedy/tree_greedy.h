// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "extract/core/extractor.h"

namespace egret::extract {

// The cheapest term of each class (extract/core/cheapest_terms.h).
base::Result<Solution> extract_tree_greedy(const Problem& problem, const Options& options);

}  // namespace egret::extract
