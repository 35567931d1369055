// SPDX-License-Identifier: Apache-2.0
#include "parallel/system/topology.h"

#include <algorithm>
#include <cmath>

namespace egret::parallel {
namespace {

// The part of a torus that so many neighbours fill, from its first dimension.
struct Box {
  std::vector<double> sides;
  bool closed = true;  // the last side wraps around
};
Box box_of(const std::vector<std::int64_t>& dims, std::int64_t joined) {
  Box box;
  for (const std::int64_t dim : dims) {
    if (joined <= 1) break;
    const std::int64_t side = std::min(dim, joined);
    if (side > 1) box.sides.push_back(static_cast<double>(side));
    box.closed = side == dim;
    joined = (joined + side - 1) / side;
  }
  if (box.sides.empty()) box.sides.push_back(1);
  return box;
}

// Mean distance to the others in the densest graph of this degree: degree (degree - 1)^(k - 1)
// devices are k links away (the Moore bound). O(log joined).
double moore_distance(std::int64_t degree, std::int64_t joined) {
  const double others = std::max(1.0, static_cast<double>(joined) - 1);
  const double links = std::max(1.0, static_cast<double>(degree));
  if (degree <= 2) {  // a ring: as many devices at each distance
    const double whole = std::floor(others / links);
    return (links * whole * (whole + 1) / 2 + (others - links * whole) * (whole + 1)) / others;
  }
  double left = others, total = 0, level = links;
  for (double distance = 1; left > 0; ++distance) {
    const double here = std::min(level, left);
    total += here * distance;
    left -= here;
    level *= links - 1;
  }
  return total / others;
}

}  // namespace

double Topology::ring_links(std::int64_t joined) const {
  switch (kind) {
    case TopologyKind::kSwitch: return 1;
    case TopologyKind::kFatTree:
    case TopologyKind::kRail:
    case TopologyKind::kDragonfly:
      // A ring leaves a leaf once, after passing the members there.
      if (leaf == 0 || joined <= leaf) return 1;
      return std::min(1.0, static_cast<double>(leaf) / oversubscription);
    case TopologyKind::kTorus: {
      const Box box = box_of(dims, joined);
      // A line instead of a ring sends in one direction and back in the other.
      const auto sides = static_cast<double>(box.sides.size());
      return box.closed ? 2 * sides : std::max(1.0, 2 * (sides - 1));
    }
    case TopologyKind::kDirect:
      return static_cast<double>(std::clamp<std::int64_t>(degree, 1, joined - 1));
  }
  return 1;
}

double Topology::all_to_all_links(std::int64_t joined) const {
  const auto n = static_cast<double>(joined);
  switch (kind) {
    case TopologyKind::kSwitch: return 1;
    case TopologyKind::kFatTree:
    case TopologyKind::kRail:
    case TopologyKind::kDragonfly: {
      if (leaf == 0 || joined <= leaf) return 1;
      const double leaving = (n - static_cast<double>(leaf)) / (n - 1);
      return std::min(1.0, 1 / (oversubscription * leaving));
    }
    case TopologyKind::kTorus: {
      // A ring of d devices has mean distance d / 4 over 2 links; a line, d / 3.
      const Box box = box_of(dims, joined);
      const double longest = *std::ranges::max_element(box.sides);
      const double links = 2 * static_cast<double>(box.sides.size());
      return std::min(links, (box.closed ? 8 : 4) / longest);
    }
    case TopologyKind::kDirect:
      return static_cast<double>(std::min(degree, joined - 1)) / moore_distance(degree, joined);
  }
  return 1;
}

double Topology::hops(std::int64_t joined) const {
  switch (kind) {
    case TopologyKind::kSwitch: return 1;
    case TopologyKind::kFatTree:
    case TopologyKind::kRail:
    case TopologyKind::kDragonfly: return leaf == 0 || joined <= leaf ? 1 : 3;
    case TopologyKind::kTorus: {
      double total = 0;
      for (const double side : box_of(dims, joined).sides) total += side / 4;
      return std::max(1.0, total);
    }
    case TopologyKind::kDirect: return std::max(1.0, moore_distance(degree, joined));
  }
  return 1;
}

}  // namespace egret::parallel
