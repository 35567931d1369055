// SPDX-License-Identifier: Apache-2.0
// Programs that repeat a part many times, as a deep network its layers: planned with a few of them,
// and the others as these.
//
// A value is a *seam* of two layers if all that comes after it reads nothing before it but
// constants. Seams c1, c2, .., cn with equal programs between them are layers. Without n-k of them
// the program ends as before and is planned in the usual way; then in the whole program each
// operator may be distributed only as one in the same surroundings was, which leaves little to look
// for. Surroundings are what can be seen within a few steps from the value, up and down.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "parallel/placed_egraph.h"
#include "parallel/pricing.h"

namespace egret::parallel {

struct FewerLayers {
  ir::Graph graph;
  std::int64_t layers = 0;  // of the whole
};

// The program with so many of its layers; nullopt where it has not more. O(nodes) for each value
// that may be a seam, of which few are tried.
std::optional<FewerLayers> with_fewer_layers(const ir::Graph& graph, std::int64_t layers);

// How operators are distributed, by their surroundings.
using TiedChoices = std::map<std::string, std::vector<std::string>>;

TiedChoices choices_of(const PlacedEGraph& placed, const Pricing& pricing,
                       const extract::Solution& solution);
// The operators on parts that are distributed otherwise, where their surroundings are known.
std::vector<Pricing::Index> nodes_not_tied(const PlacedEGraph& placed, const Pricing& pricing,
                                           const TiedChoices& choices);

}  // namespace egret::parallel
