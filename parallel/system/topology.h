// SPDX-License-Identifier: Apache-2.0
// The shape of a tier's network, as multiples of one link's bandwidth that its traffic gets.
//
//   switch       one switch: every device sends at its full rate
//   fat-tree     leaf switches, with 1 / oversubscription of their bandwidth upwards
//   rail         the same, where device i of each node is connected to leaf switch i: members of
//                different rails meet within their node, so messages cross one switch
//   dragonfly    groups with all-to-all links; oversubscription of the links between groups
//   torus        dims; a device has two links in each, and rings run in both directions
//   direct       each device has `degree` links to other devices (TopoOpt; Wang et al., 2023)
//
// All groups of the same kind are taken to communicate at the same time, as in training. Uniform
// traffic takes shortest paths, spread evenly.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace egret::parallel {

enum class TopologyKind : unsigned char { kSwitch, kFatTree, kRail, kDragonfly, kTorus, kDirect };
inline constexpr std::array<std::string_view, 6> kTopologyNames = {
    "switch", "fat-tree", "rail", "dragonfly", "torus", "direct"};

struct Topology {
  TopologyKind kind = TopologyKind::kSwitch;
  std::int64_t leaf = 0;                // domains of the tier below at one leaf switch; 0: all
  double oversubscription = 1;          // of a leaf's links upwards
  std::vector<std::int64_t> dims = {};  // of a torus
  std::int64_t degree = 1;              // of direct connections

  // Of `joined` domains of the tier below, links that a ring through all of them can use at once.
  double ring_links(std::int64_t joined) const;
  // Links of a device that uniform all-to-all traffic keeps busy with bytes that arrive.
  double all_to_all_links(std::int64_t joined) const;
  // Switches, or links without switches, on the way of a message, on average.
  double hops(std::int64_t joined) const;
};

}  // namespace egret::parallel
