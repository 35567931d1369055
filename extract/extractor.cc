// SPDX-License-Identifier: Apache-2.0
#include "extract/extractor.h"

#include <algorithm>
#include <array>

#include "extract/dag_greedy.h"
#include "extract/exact.h"
#include "extract/local_search.h"
#include "extract/tree_greedy.h"

namespace egret::extract {
namespace {

constexpr std::array<ExtractorRow, 6> kExtractors = {{
    {"auto", "ilp, or local-search in a build without a solver", &extract_auto},
    {"local-search", "dag-greedy improved by moves that let several classes share a new one",
     &extract_local_search},
    {"dag-greedy", "cheapest set of nodes per class, shared nodes counted once",
     &extract_dag_greedy},
    {"tree-greedy", "cheapest term per class, shared nodes counted at each use",
     &extract_tree_greedy},
    {"ilp", "least DAG cost with a proof, or the gap: reductions and an integer program",
     &extract_exactly},
    {"ilp-cbc", "ilp with CBC, also where the build has HiGHS", &extract_exactly_with_cbc},
}};

}  // namespace

std::span<const ExtractorRow> extractors() { return kExtractors; }

const ExtractorRow* find_extractor(std::string_view name) {
  const auto row = std::ranges::find(kExtractors, name, &ExtractorRow::name);
  return row != kExtractors.end() ? row : nullptr;
}

}  // namespace egret::extract
