// SPDX-License-Identifier: Apache-2.0
#include "driver/search/graph_search.h"

#include <algorithm>

#include "driver/search/backtracking.h"
#include "driver/search/flow_split.h"

namespace egret::driver {
namespace {

constexpr GraphSearchRow kRows[] = {
    {"backtracking", "TASO's search over whole graphs", backtrack},
    {"backtracking-split", "MetaFlow's: the graph is split at minimum cuts first",
     backtrack_in_parts},
};

}  // namespace

std::span<const GraphSearchRow> graph_searches() { return kRows; }

const GraphSearchRow* find_graph_search(std::string_view name) {
  const auto found = std::ranges::find(kRows, name, &GraphSearchRow::name);
  return found == std::end(kRows) ? nullptr : found;
}

}  // namespace egret::driver
