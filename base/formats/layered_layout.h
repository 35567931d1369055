// SPDX-License-Identifier: Apache-2.0
// Places for the boxes of a directed graph, in layers (Sugiyama, Tagawa, Toda 1981): an edge leads
// from a box to one below it.
//
//   LayeredLayout layout;
//   layout.boxes = {{.width = 80, .height = 30}, {.width = 60, .height = 30}};
//   layout.edges = {{.from = 0, .to = 1}};
//   layout.place();                       // fills in x, y and the paths of edges
//
// Four steps: layers by longest paths; an order within each layer by the mean place of neighbours;
// places by least squares, with no two boxes closer than a gap; paths through the gaps. Minimizing
// crossings is NP-hard, and a reader needs no optimum. Deterministic. O(sweeps * (boxes + edges *
// layers)).
#pragma once

#include <cstddef>
#include <vector>

namespace egret::base {

struct LayeredLayout {
  struct Point {
    double x = 0;
    double y = 0;
  };
  struct Box {
    double width = 0;
    double height = 0;
    double x = 0;  // of the left upper corner
    double y = 0;
    std::size_t layer = 0;
  };
  struct Edge {
    std::size_t from = 0;
    std::size_t to = 0;
    // From the lower side of a box to the upper side of another one, with two points in each layer
    // between. An edge that closes a cycle leads upwards.
    std::vector<Point> path{};
  };

  std::vector<std::size_t> starts{};  // boxes that stand above, as far as cycles leave a choice
  double column_gap = 22;
  double row_gap = 34;
  std::vector<Box> boxes;
  std::vector<Edge> edges;
  double width = 0;  // of the whole
  double height = 0;

  void place();
};

}  // namespace egret::base
