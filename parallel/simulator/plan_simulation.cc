// SPDX-License-Identifier: Apache-2.0
#include "parallel/simulator/plan_simulation.h"

#include <algorithm>
#include <utility>

#include "parallel/placed/program_prices.h"

namespace egret::parallel {
namespace {

constexpr std::uint32_t kCompute = 0;     // stream; that of an axis is axis + 1, where it overlaps
constexpr std::uint32_t kStorage = 1000;  // stream of copies, where they overlap

class PlanProgram {
 public:
  PlanProgram(const PlacedGraph& plan, const Cluster& machine)
      : plan_(plan),
        machine_(machine),
        prices_(plan, machine),
        copied_out_(copied_out(plan)),
        ends_(plan.nodes.size()),
        stored_(plan.nodes.size()) {
    for (const Link& link : machine.links) graph.add_link(link.bytes_per_second);
  }

  base::Status add_all() {
    for (std::size_t n = 0; n < plan_.nodes.size(); ++n) {
      if (prices_.constant()[n]) continue;
      const PlacedNode& node = plan_.nodes[n];
      switch (node.kind) {
        case PlacedNode::Kind::kInput:
        case PlacedNode::Kind::kConstant: break;
        case PlacedNode::Kind::kOperator: {
          EGRET_ASSIGN_OR_RETURN(const double seconds, prices_.fused_seconds(node));
          ends_[n] = compute(std::string(node.op->name()), seconds, inputs_of(node));
          break;
        }
        case PlacedNode::Kind::kCollective: ends_[n] = exchange(node); break;
        case PlacedNode::Kind::kRing: {
          EGRET_ASSIGN_OR_RETURN(ends_[n], ring(node));
          break;
        }
        case PlacedNode::Kind::kBack: {
          std::vector<TaskId> after = {stored_[node.inputs.front()]};
          if (latest_.valid()) after.push_back(latest_);
          ends_[n] = copy("copy back", node, std::move(after));
          break;
        }
      }
      if (copied_out_[n]) stored_[n] = copy("copy out", node, {ends_[n]});
    }
    return base::ok();
  }

  TaskGraph graph;
  std::vector<PlannedTask> tasks;

 private:
  TaskId add(SimulatedTask task, std::string name) {
    tasks.push_back({std::move(name), task.effect == TaskEffect::kCommunicates});
    return graph.add(std::move(task));
  }

  std::vector<TaskId> inputs_of(const PlacedNode& node) const {
    std::vector<TaskId> result;
    for (const std::size_t input : node.inputs) {
      if (ends_[input].valid()) result.push_back(ends_[input]);
    }
    return result;
  }

  TaskId compute(std::string name, double seconds, std::vector<TaskId> after) {
    latest_ = add({.stream = kCompute,
                   .effect = TaskEffect::kComputes,
                   .work = {.seconds = seconds},
                   .after = std::move(after)},
                  std::move(name));
    return latest_;
  }

  // An exchange of a program with an order begins no earlier than its place there: its result takes
  // memory.
  std::vector<TaskId> ready_for(const PlacedNode& exchange) const {
    std::vector<TaskId> after = inputs_of(exchange);
    if (plan_.in_order && latest_.valid() && std::ranges::find(after, latest_) == after.end())
      after.push_back(latest_);
    return after;
  }

  // TOTAL seconds, of which BYTES take their part.
  TaskId send(std::string name, int axis, double total, double bytes, std::vector<TaskId> after) {
    const double rate = machine_.links[static_cast<std::size_t>(axis)].bytes_per_second;
    return add({.stream = machine_.overlaps ? static_cast<std::uint32_t>(axis) + 1 : kCompute,
                .effect = TaskEffect::kCommunicates,
                .work = {.seconds = std::max(0.0, total - bytes / rate),
                         .bytes = bytes,
                         .most_bytes_per_second = rate},
                .links = {LinkId(static_cast<std::size_t>(axis))},
                .after = std::move(after)},
               std::move(name));
  }

  TaskId copy(std::string name, const PlacedNode& node, std::vector<TaskId> after) {
    return add({.stream = machine_.overlaps ? kStorage : kCompute,
                .effect = TaskEffect::kCommunicates,
                .work = {.seconds = prices_.copy_seconds(node)},
                .after = std::move(after)},
               std::move(name));
  }

  TaskId exchange(const PlacedNode& node) {
    const auto from = static_cast<double>(plan_.nodes[node.inputs.front()].type.bytes());
    const auto to = static_cast<double>(node.type.bytes());
    const double total = machine_.seconds(node.collective, from, to);
    std::string name(name_of(node.collective));
    if (node.collective.from.is_copy()) return compute(std::move(name), total, inputs_of(node));
    const int axis = node.collective.axis;
    return send(std::move(name), axis, total,
                bytes_sent(node.collective, plan_.mesh.size(axis), from, to), ready_for(node));
  }

  // Each step computes with the blocks that arrived, while they pass on to the next device.
  base::Result<TaskId> ring(const PlacedNode& node) {
    EGRET_ASSIGN_OR_RETURN(const RingProgram program, ring_program(plan_, node));
    EGRET_ASSIGN_OR_RETURN(double step_s, prices_.seconds_of(program.step));
    EGRET_ASSIGN_OR_RETURN(double finish_s, prices_.seconds_of(program.finish));
    if (program.result.is_split())
      finish_s = prices_.seconds_to_copy(static_cast<double>(program.type.bytes()));
    double passing = 0, pass_s = 0;
    for (std::size_t i = 0; i < program.inputs.size(); ++i) {
      const auto bytes = static_cast<double>(program.blocks[i].bytes());
      if (program.inputs[i].passes) {
        passing += bytes;
        pass_s += machine_.seconds_to_pass(program.axis, bytes);
      } else if (program.inputs[i].step.is_split()) {
        step_s += prices_.seconds_to_copy(bytes);
      }
    }
    std::vector<TaskId> arrived = ready_for(node);
    TaskId last;
    for (std::int64_t step = 0; step < program.steps; ++step) {
      std::vector<TaskId> next = arrived;
      if (step + 1 < program.steps && passing > 0) {
        const double once = pass_s / static_cast<double>(program.steps - 1);
        next = {send("pass blocks", program.axis, once, passing, arrived)};
      }
      last = compute("ring step", step_s, std::move(arrived));
      arrived = std::move(next);
    }
    return compute("end of ring", finish_s, {last});
  }

  const PlacedGraph& plan_;
  const Cluster& machine_;
  const ProgramPrices prices_;
  const std::vector<bool> copied_out_;
  std::vector<TaskId> ends_;    // by node
  std::vector<TaskId> stored_;  // by node: copies to storage
  TaskId latest_;               // computation
};

// Of the time that is not computed, what some collective takes.
double exposed_seconds(const PlanSimulation& plan) {
  double computed = 0;
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    const TaskSpan& span = plan.simulator.timeline().spans[i];
    if (!plan.tasks[i].communicates) computed += span.end_s - span.start_s;
  }
  // Something runs at any time: each task starts when another ends.
  return plan.seconds() - computed;
}

}  // namespace

base::Result<PlanSimulation> simulate_plan(const PlacedGraph& plan, const Cluster& machine,
                                           double overlap_slowdown) {
  if (to_string(machine.mesh) != to_string(plan.mesh)) {
    return base::bad_input("the plan is for the mesh " + to_string(plan.mesh) +
                           ", the machine has " + to_string(machine.mesh));
  }
  PlanProgram program(plan, machine);
  EGRET_RETURN_IF_ERROR(program.add_all());
  EGRET_ASSIGN_OR_RETURN(EventSimulator simulator,
                         EventSimulator::make(std::move(program.graph), overlap_slowdown));
  EGRET_RETURN_IF_ERROR(simulator.run());
  PlanSimulation result{std::move(simulator), std::move(program.tasks), {"compute"}, {}};
  for (int axis = 0; axis < plan.mesh.axis_count(); ++axis) {
    result.stream_names.push_back("axis " + plan.mesh.axis(axis).name);
    result.link_names.push_back("axis " + plan.mesh.axis(axis).name);
  }
  for (std::size_t i = 0; i < result.tasks.size(); ++i) {
    const TaskWork& work = result.simulator.graph().tasks()[i].work;
    if (!result.tasks[i].communicates) {
      result.compute_s += work.seconds;
    } else {
      result.communication_s +=
          work.seconds + (work.bytes > 0 ? work.bytes / work.most_bytes_per_second : 0);
    }
  }
  result.exposed_s = exposed_seconds(result);
  return result;
}

}  // namespace egret::parallel
