// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "parallel/laws/law_cache.h"
#include "parallel/placed/placed_graph.h"

namespace egret::parallel {

// check() of parallel/placed/placed_graph.h, with a cache of laws.
base::Status check(const PlacedGraph& graph, LawCache& laws);

}  // namespace egret::parallel
