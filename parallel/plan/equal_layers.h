// SPDX-License-Identifier: Apache-2.0
// Programs that repeat a part many times, like the layers of a deep network.
//
// A value is a *seam* of two layers if nothing after it reads anything before it. Seams s0, s1, ..,
// sn with equal programs between them delimit equal layers. Each layer has its own weights; other
// constants are equal. All layers may read the same outside values (a mask, for example).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/hash.h"
#include "ir/graph/graph.h"

namespace egret::parallel {

struct EqualLayers {
  std::vector<ir::NodeId> seams;  // one more than layers
  // Operators and weights of each layer, in the same order in all of them; its seam is the last.
  std::vector<std::vector<ir::NodeId>> nodes;
};

// The layers that make up most of the program, at least three; nullopt where there are none.
// O(nodes) for each candidate seam, of which few are tried.
std::optional<EqualLayers> equal_layers(const ir::Graph& graph);

// The program with fewer layers, of which the second stands for many.
struct FewerLayers {
  ir::Graph graph;
  std::int64_t layers = 0;   // of the whole program
  std::int64_t repeats = 0;  // layers that the second one represents
  // Seams in `graph`: the value that the first layer reads, the value that it gives, and the one
  // that the second layer gives. The latter two are outputs of seam_mark(): before it, a layer
  // brings its value to the placement in which the next one finds it.
  ir::NodeId before{}, first{}, second{};
  // Weights in `graph` get unique contents, so that no two are identified and rules learn nothing
  // that holds only for the second layer's. The map gives, by these contents, the weights of the
  // whole that they represent: `repeats` for the second layer, else one.
  std::map<base::ContentHash, std::vector<ir::NodeId>> weights;
};

// The identity, as a marker of seams.
const ir::Operator& seam_mark();

// Keeps the first two layers and the last ones, `layers` >= 2 in all; nullopt where the program
// does not have more.
std::optional<FewerLayers> with_fewer_layers(const ir::Graph& graph, std::int64_t layers);

}  // namespace egret::parallel
