// SPDX-License-Identifier: Apache-2.0
#include "parallel/simulator/plan_simulation.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "cost/model.h"
#include "ir/analysis/elementwise.h"
#include "ir/nest/work.h"

namespace egret::parallel {
namespace {

constexpr std::uint32_t kCompute = 0;  // stream; that of an axis is axis + 1, where it overlaps

class PlanProgram {
 public:
  PlanProgram(const PlacedGraph& plan, const Cluster& machine)
      : plan_(plan),
        machine_(machine),
        model_(cost::make_model("roofline", machine.rates)),
        constant_(follow_from_constants(plan)),
        readers_(plan.nodes.size(), 0),
        ends_(plan.nodes.size()) {
    for (const PlacedNode& node : plan.nodes) {
      for (const std::size_t input : node.inputs) ++readers_[input];
    }
    for (const auto& output : plan.outputs) ++readers_[output.node];
    for (const Link& link : machine.links) graph.add_link(link.bytes_per_second);
  }

  base::Status add_all() {
    for (std::size_t n = 0; n < plan_.nodes.size(); ++n) {
      if (constant_[n]) continue;
      const PlacedNode& node = plan_.nodes[n];
      switch (node.kind) {
        case PlacedNode::Kind::kInput:
        case PlacedNode::Kind::kConstant: break;
        case PlacedNode::Kind::kOperator: {
          EGRET_ASSIGN_OR_RETURN(const double seconds, seconds_of(node));
          ends_[n] = compute(std::string(node.op->name()), seconds, inputs_of(node));
          break;
        }
        case PlacedNode::Kind::kCollective: ends_[n] = exchange(node); break;
        case PlacedNode::Kind::kRing: {
          EGRET_ASSIGN_OR_RETURN(ends_[n], ring(node));
          break;
        }
      }
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
    return add({.stream = kCompute,
                .effect = TaskEffect::kComputes,
                .work = {.seconds = seconds},
                .after = std::move(after)},
               std::move(name));
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

  base::Result<double> seconds_of(const ir::Operator& op, const ir::Attrs& attrs,
                                  std::span<const ir::TensorType> types,
                                  const std::unique_ptr<bool[]>& constant,
                                  const ir::TensorType& output) const {
    EGRET_ASSIGN_OR_RETURN(const cost::Cost cost,
                           model_->cost({.op = &op,
                                         .attrs = &attrs,
                                         .inputs = types,
                                         .constant = {constant.get(), types.size()},
                                         .output = &output}));
    return cost.seconds;
  }

  // The operand whose kernel an elementwise operator joins, as parallel/plan/fusion.h prices it.
  std::optional<std::size_t> joined_operand(const PlacedNode& node) const {
    if (!machine_.fuses) return std::nullopt;
    std::vector<ir::DType> dtypes;
    for (const std::size_t input : node.inputs) dtypes.push_back(plan_.nodes[input].type.dtype);
    if (!ir::is_elementwise(*node.op, node.attrs, dtypes)) return std::nullopt;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const PlacedNode& operand = plan_.nodes[node.inputs[i]];
      if (operand.kind == PlacedNode::Kind::kOperator && !constant_[node.inputs[i]] &&
          operand.type.shape() == node.type.shape())
        return i;
    }
    return std::nullopt;
  }

  base::Result<double> seconds_of(const PlacedNode& node) const {
    std::vector<ir::TensorType> types;
    const auto constant = std::make_unique<bool[]>(node.inputs.size());
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      types.push_back(plan_.nodes[node.inputs[i]].type);
      constant[i] = constant_[node.inputs[i]];
    }
    if (const auto joined = joined_operand(node)) {
      EGRET_ASSIGN_OR_RETURN(ir::Work work, ir::work_of(*node.op, node.part_attrs, types));
      const auto bytes = static_cast<double>(types[*joined].bytes());
      work.bytes_read = std::max(0.0, work.bytes_read - bytes);
      if (readers_[node.inputs[*joined]] == 1)
        work.bytes_written = std::max(0.0, work.bytes_written - bytes);
      return cost::roofline_seconds(work, machine_.rates);
    }
    return seconds_of(*node.op, node.part_attrs, types, constant, node.type);
  }

  base::Result<double> seconds_of(const ir::Graph& part) const {
    double seconds = 0;
    for (const ir::Node& node : part.nodes()) {
      if (node.kind != ir::NodeKind::kOperator) continue;
      std::vector<ir::TensorType> types;
      for (const ir::NodeId input : node.inputs) types.push_back(part.node(input).type);
      EGRET_ASSIGN_OR_RETURN(const double one,
                             seconds_of(*node.op, node.attrs, types,
                                        std::make_unique<bool[]>(types.size()), node.type));
      seconds += one;
    }
    return seconds;
  }

  TaskId exchange(const PlacedNode& node) {
    const auto from = static_cast<double>(plan_.nodes[node.inputs.front()].type.bytes());
    const auto to = static_cast<double>(node.type.bytes());
    const double total = machine_.seconds(node.collective, from, to);
    std::string name(name_of(node.collective));
    if (node.collective.from.is_copy()) return compute(std::move(name), total, inputs_of(node));
    const int axis = node.collective.axis;
    return send(std::move(name), axis, total,
                bytes_sent(node.collective, plan_.mesh.size(axis), from, to), inputs_of(node));
  }

  // Each step computes with the blocks that arrived, while they pass on to the next device.
  base::Result<TaskId> ring(const PlacedNode& node) {
    EGRET_ASSIGN_OR_RETURN(const RingProgram program, ring_program(plan_, node));
    const auto copied = [&](double bytes) {
      return machine_.rates.seconds_per_kernel + 2 * bytes / machine_.rates.bytes_per_second;
    };
    EGRET_ASSIGN_OR_RETURN(double step_s, seconds_of(program.step));
    EGRET_ASSIGN_OR_RETURN(double finish_s, seconds_of(program.finish));
    if (program.result.is_split()) finish_s = copied(static_cast<double>(program.type.bytes()));
    double passing = 0, pass_s = 0;
    for (std::size_t i = 0; i < program.inputs.size(); ++i) {
      const auto bytes = static_cast<double>(program.blocks[i].bytes());
      if (program.inputs[i].passes) {
        passing += bytes;
        pass_s += machine_.seconds_to_pass(program.axis, bytes);
      } else if (program.inputs[i].step.is_split()) {
        step_s += copied(bytes);
      }
    }
    std::vector<TaskId> arrived = inputs_of(node);
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
  const std::unique_ptr<cost::Model> model_;
  const std::vector<bool> constant_;
  std::vector<std::size_t> readers_;  // by node, with outputs
  std::vector<TaskId> ends_;          // by node
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
