// SPDX-License-Identifier: Apache-2.0
#include "parallel/machine/collective.h"

#include <algorithm>

namespace egret::parallel {

std::string_view name_of(const Collective& collective) {
  const AxisPlacement from = collective.from;
  const AxisPlacement to = collective.to;
  if (from.is_partial()) {
    if (to.is_copy()) return "all_reduce";
    return to.is_split() && !to.has_halo() ? "reduce_scatter" : "";
  }
  if (from.has_halo()) return "";
  if (from.is_split()) {
    if (to.is_copy()) return "all_gather";
    if (to.has_halo()) return to.dim == from.dim ? "halo_exchange" : "";
    return to.is_split() && to.dim != from.dim ? "all_to_all" : "";
  }
  return to.is_split() ? "slice" : "";
}

std::vector<Collective> collectives_to(int axis, AxisPlacement to, int rank) {
  std::vector<AxisPlacement> from{AxisPlacement::copy(), AxisPlacement::sum(),
                                  AxisPlacement::max()};
  for (int dim = 0; dim < rank; ++dim) from.push_back(AxisPlacement::split(dim));
  std::vector<Collective> all;
  for (const AxisPlacement one : from) {
    const Collective collective{axis, one, to};
    if (!name_of(collective).empty()) all.push_back(collective);
  }
  return all;
}

// The bytes that one device sends in the bandwidth-optimal algorithms: (p - 1) / p of the larger
// side, twice for an all-reduce. A device at neither end sends both halos; with two devices each
// sends one.
double bytes_sent(const Collective& collective, std::int64_t devices, double from, double to) {
  if (collective.from.is_copy()) return 0;
  if (collective.to.has_halo()) {
    const auto [before, after, beyond] = collective.to.halo;
    const auto rows = static_cast<double>(devices > 2 ? before + after : std::max(before, after));
    return (to - from) * rows / static_cast<double>(before + after);
  }
  const auto p = static_cast<double>(devices);
  const double share = (p - 1) / p * std::max(from, to);
  return collective.from.is_partial() && collective.to.is_copy() ? 2 * share : share;
}

base::Result<std::vector<ir::Tensor>> apply(const Collective& collective, const Mesh& mesh,
                                            std::span<const ir::Tensor> locals) {
  const std::int64_t devices = mesh.size(collective.axis);
  // Reference semantics: reassemble the group's whole and cut it anew.
  EGRET_ASSIGN_OR_RETURN(const Mesh line, Mesh::of({{"group", devices}}));
  const Placement from = Placement(1).with(0, collective.from);
  const Placement to = Placement(1).with(0, collective.to);
  ir::TensorType whole = locals.front().type();
  if (collective.from.is_split()) {
    ir::Index& size = whole.dims[static_cast<std::size_t>(collective.from.dim)];
    size = size.constant() * devices;
  }
  std::vector<ir::Tensor> results(locals.size());
  for (std::int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    if (mesh.coordinate(rank, collective.axis) != 0) continue;
    const std::vector<std::int64_t> group = mesh.group(rank, collective.axis);
    std::vector<ir::Tensor> held;
    for (const std::int64_t member : group)
      held.push_back(locals[static_cast<std::size_t>(member)]);
    EGRET_ASSIGN_OR_RETURN(const ir::Tensor tensor, whole_of(held, whole, from, line));
    for (std::size_t i = 0; i < group.size(); ++i) {
      results[static_cast<std::size_t>(group[i])] =
          block_of(tensor, to, line, static_cast<std::int64_t>(i));
    }
  }
  return results;
}

}  // namespace egret::parallel
