// SPDX-License-Identifier: Apache-2.0
#include "parallel/simulator/overlapped_program.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "parallel/placed/program_prices.h"
#include "parallel/simulator/plan_simulation.h"

namespace egret::parallel {
namespace {

using Kind = PlacedNode::Kind;

class ListSchedule {
 public:
  ListSchedule(const PlacedGraph& plan, const Cluster& machine)
      : plan_(plan),
        prices_(plan, machine),
        seconds_(plan.nodes.size(), 0),
        urgency_(plan.nodes.size(), 0),
        waits_(plan.nodes.size(), 0),
        readers_(plan.nodes.size()),
        streams_(static_cast<std::size_t>(machine.mesh.axis_count()) + 1) {}

  base::Status price() {
    for (std::size_t i = 0; i < plan_.nodes.size(); ++i) {
      const PlacedNode& node = plan_.nodes[i];
      waits_[i] = node.inputs.size();
      for (const std::size_t input : node.inputs) readers_[input].push_back(i);
      if (prices_.constant()[i]) continue;
      if (node.kind == Kind::kOperator) {
        EGRET_ASSIGN_OR_RETURN(seconds_[i], prices_.fused_seconds(node));
      } else if (!node.inputs.empty()) {
        EGRET_ASSIGN_OR_RETURN(seconds_[i], prices_.seconds_alone(node));
      }
    }
    for (std::size_t i = plan_.nodes.size(); i-- > 0;) {
      for (const std::size_t reader : readers_[i])
        urgency_[i] = std::max(urgency_[i], urgency_[reader]);
      urgency_[i] += seconds_[i];
    }
    return base::ok();
  }

  // Nodes in the order in which they start.
  std::vector<std::size_t> run() {
    for (std::size_t i = 0; i < plan_.nodes.size(); ++i) {
      if (plan_.nodes[i].inputs.empty()) make_ready(i);
    }
    start_all();
    while (!running_.empty()) {
      now_ = running_.top().first;
      while (!running_.empty() && running_.top().first <= now_) {
        const std::size_t node = running_.top().second;
        running_.pop();
        streams_[stream_of(node)].busy = false;
        for (const std::size_t reader : readers_[node]) {
          if (--waits_[reader] == 0) make_ready(reader);
        }
      }
      start_all();
    }
    return std::move(started_);
  }

 private:
  struct Stream {
    bool busy = false;
    // The most urgent first, and the earlier one of equals.
    std::set<std::pair<double, std::size_t>> ready;  // minus the urgency
  };
  using Ending = std::pair<double, std::size_t>;

  // 0 computes; the links of an axis have one each.
  std::size_t stream_of(std::size_t i) const {
    const PlacedNode& node = plan_.nodes[i];
    const bool sends =
        node.kind == Kind::kCollective && !node.collective.from.is_copy() && !prices_.constant()[i];
    return sends ? static_cast<std::size_t>(node.collective.axis) + 1 : 0;
  }

  void make_ready(std::size_t node) {
    streams_[stream_of(node)].ready.emplace(-urgency_[node], node);
  }

  void start_all() {
    for (Stream& stream : streams_) {
      if (stream.busy || stream.ready.empty()) continue;
      const std::size_t node = stream.ready.begin()->second;
      stream.ready.erase(stream.ready.begin());
      stream.busy = true;
      started_.push_back(node);
      running_.emplace(now_ + seconds_[node], node);
    }
  }

  const PlacedGraph& plan_;
  const ProgramPrices prices_;
  std::vector<double> seconds_, urgency_;  // by node
  std::vector<std::size_t> waits_;         // for so many operands
  std::vector<std::vector<std::size_t>> readers_;
  std::vector<Stream> streams_;
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> running_;
  std::vector<std::size_t> started_;
  double now_ = 0;
};

}  // namespace

base::Result<PlacedGraph> ordered_for_overlap(const PlacedGraph& plan, const Cluster& machine) {
  ListSchedule schedule(plan, machine);
  EGRET_RETURN_IF_ERROR(schedule.price());
  const std::vector<std::size_t> order = schedule.run();
  PlacedGraph result;
  result.mesh = plan.mesh;
  std::vector<std::size_t> place(plan.nodes.size(), 0);
  for (const std::size_t i : order) {
    place[i] = result.nodes.size();
    result.nodes.push_back(plan.nodes[i]);
    for (std::size_t& input : result.nodes.back().inputs) input = place[input];
  }
  for (const auto& [name, node] : plan.outputs) result.outputs.push_back({name, place[node]});
  for (const auto& [node, output] : plan.carried) result.carried.push_back({place[node], output});
  return result;
}

base::Result<double> overlapped_seconds(PlacedGraph& program, const Cluster& machine,
                                        bool reorder) {
  if (reorder) {
    EGRET_ASSIGN_OR_RETURN(program, ordered_for_overlap(program, machine));
  }
  EGRET_ASSIGN_OR_RETURN(const PlanSimulation simulated, simulate_plan(program, machine));
  return simulated.seconds();
}

}  // namespace egret::parallel
