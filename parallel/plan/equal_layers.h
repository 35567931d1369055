// SPDX-License-Identifier: Apache-2.0
// Programs that repeat a part many times, as a deep network its layers.
//
// A value is a *seam* of two layers if all that comes after it reads nothing that comes before it.
// Seams s0, s1, .., sn with equal programs between them are equal layers. Each has weights of its
// own; other constants are equal. All may read the same values from outside (a mask, say).
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

// Those that make up most of the program, three at least; nullopt where there are none.
// O(nodes) for each value that may be a seam, of which few are tried.
std::optional<EqualLayers> equal_layers(const ir::Graph& graph);

// The program with so few of its layers that one of them, the second, stands for many.
struct FewerLayers {
  ir::Graph graph;
  std::int64_t layers = 0;   // of the whole
  std::int64_t repeats = 0;  // how many of them the second stands for
  // Seams in `graph`: what the first layer reads, it gives, and the second gives. The latter two
  // are values of a seam_mark(), before which a layer brings its value to where the next one finds
  // it.
  ir::NodeId before{}, first{}, second{};
  // Weights in `graph` have other contents, each its own, so that no two are taken for one and no
  // rule knows more of the second layer's than of others'. By these contents the weights of the
  // whole that they stand for: of the second layer `repeats`, else one.
  std::map<base::ContentHash, std::vector<ir::NodeId>> weights;
};

// An operator that does nothing.
const ir::Operator& seam_mark();

// With the first two layers and the last ones, `layers` >= 2 together; nullopt where the program
// has not more of them.
std::optional<FewerLayers> with_fewer_layers(const ir::Graph& graph, std::int64_t layers);

}  // namespace egret::parallel
