// SPDX-License-Identifier: Apache-2.0
#include "parallel/plan/communication.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "parallel/plan/pricing.h"

namespace egret::parallel {

// The exchanges of one run, by collective and mesh axis. Values that follow from constants are
// exchanged once, before the first run, and do not count.
std::vector<Communication> communication_of(const PlacedGraph& graph, const Cluster& machine) {
  std::vector<Communication> all;
  const auto add = [&](std::string_view name, int at, double bytes, double seconds) {
    const std::string& axis = graph.mesh.axis(at).name;
    auto found = std::ranges::find_if(
        all, [&](const Communication& one) { return one.collective == name && one.axis == axis; });
    if (found == all.end()) {
      all.push_back({std::string(name), axis});
      found = std::prev(all.end());
    }
    ++found->count;
    found->bytes += bytes;
    found->time_s += seconds;
  };
  const std::vector<bool> constant = follow_from_constants(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (constant[i]) continue;
    const PlacedNode& node = graph.nodes[i];
    const auto after = static_cast<double>(node.type.bytes());
    if (node.kind == PlacedNode::Kind::kRing) {
      const RingProgram program = known_ring_program(graph, node);
      add("ring", program.axis, program.bytes_sent(), seconds_to_pass(program, machine));
    }
    if (node.kind != PlacedNode::Kind::kCollective || node.collective.from.is_copy()) continue;
    const auto before = static_cast<double>(graph.nodes[node.inputs.front()].type.bytes());
    const Collective& collective = node.collective;
    add(name_of(collective), collective.axis,
        bytes_sent(collective, graph.mesh.size(collective.axis), before, after),
        machine.seconds(collective, before, after));
  }
  return all;
}

}  // namespace egret::parallel
