// SPDX-License-Identifier: Apache-2.0
#include "parallel/plan/recomputed_program.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/stop.h"
#include "extract/recompute/methods.h"
#include "parallel/placed/program_prices.h"

namespace egret::parallel {
namespace {

using Kind = PlacedNode::Kind;

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

// The nodes that run in each step, as tasks: those that depend on inputs. A task stores the value
// of its last node.
class PlacedTasks {
 public:
  static base::Result<PlacedTasks> of(const PlacedGraph& graph, const Cluster& machine,
                                      double storage_rate) {
    PlacedTasks tasks(graph, machine);
    EGRET_RETURN_IF_ERROR(tasks.add_all());
    for (extract::RecomputeTask& task : tasks.problem_.tasks) {
      if (storage_rate <= 0 || task.bytes == 0) continue;
      task.copy_out = task.copy_back = static_cast<double>(task.bytes) / storage_rate;
    }
    return tasks;
  }

  const extract::RecomputeProblem& problem() const { return problem_; }

  // The nodes of each task are its own; all others stay as they are, first.
  PlacedGraph in_order(const std::vector<int>& order) const {
    PlacedGraph made;
    made.mesh = graph_->mesh;
    made.in_order = true;
    std::vector<std::size_t> first(graph_->nodes.size(), kNone);
    std::vector<std::size_t> latest(graph_->nodes.size(), kNone);
    const auto append = [&](std::size_t i) {
      PlacedNode node = graph_->nodes[i];
      for (std::size_t& input : node.inputs) input = latest[input];
      latest[i] = made.nodes.size();
      if (first[i] == kNone) {
        first[i] = latest[i];
      } else {
        node.again = first[i];
        node.name.clear();  // names are unique
      }
      made.nodes.push_back(std::move(node));
    };
    for (std::size_t i = 0; i < graph_->nodes.size(); ++i) {
      if (task_of_[i] == kNone) append(i);
    }
    for (const int step : order) {
      const auto& members = members_[static_cast<std::size_t>(extract::task_of(step))];
      if (!extract::is_back(step)) {
        std::ranges::for_each(members, append);
        continue;
      }
      const std::size_t i = members.back();
      const PlacedNode& value = graph_->nodes[i];
      latest[i] = made.nodes.size();
      made.nodes.push_back({.kind = Kind::kBack,
                            .inputs = {first[i]},
                            .whole = value.whole,
                            .type = value.type,
                            .placement = value.placement,
                            .again = first[i]});
    }
    for (const auto& output : graph_->outputs)
      made.outputs.push_back({output.name, latest[output.node]});
    for (const auto& [node, output] : graph_->carried)
      made.carried.push_back({first[node], output});
    return made;
  }

 private:
  PlacedTasks(const PlacedGraph& graph, const Cluster& machine)
      : graph_(&graph),
        prices_(std::make_unique<ProgramPrices>(graph, machine)),
        task_of_(graph.nodes.size(), kNone),
        bytes_(graph.nodes.size(), 0) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) bytes_[i] = graph.nodes[i].type.bytes();
    // The next of what is carried takes its place, as in peak_bytes().
    for (const auto& [node, output] : graph.carried) {
      const std::size_t next = graph.outputs[output].node;
      if (!graph.nodes[next].inputs.empty()) bytes_[next] = 0;
    }
  }

  bool runs(std::size_t i) const {
    return !graph_->nodes[i].inputs.empty() && !prices_->constant()[i];
  }

  // The node that runs in one kernel with its joined operand and nothing else reads that one.
  std::size_t joined(std::size_t i) const {
    const PlacedNode& node = graph_->nodes[i];
    const auto operand = prices_->joined_operand(node);
    if (!operand) return kNone;
    const std::size_t from = node.inputs[*operand];
    return runs(from) && prices_->readers()[from] == 1 ? from : kNone;
  }

  base::Status add_all() {
    std::vector<std::size_t> reader(graph_->nodes.size(), kNone);  // in the same kernel
    std::vector<std::size_t> operand(graph_->nodes.size(), kNone);
    for (std::size_t i = 0; i < graph_->nodes.size(); ++i) {
      if (!runs(i)) continue;
      operand[i] = joined(i);
      if (operand[i] != kNone) reader[operand[i]] = i;
    }
    const std::vector<bool> forward = forward_nodes();
    std::vector<bool> leaves(graph_->nodes.size(), false);
    for (const auto& output : graph_->outputs) leaves[output.node] = true;
    for (std::size_t i = 0; i < graph_->nodes.size(); ++i) {
      if (!runs(i) || reader[i] != kNone) continue;
      std::vector<std::size_t> members{i};
      for (std::size_t at = operand[i]; at != kNone; at = operand[at]) members.push_back(at);
      std::ranges::reverse(members);
      EGRET_RETURN_IF_ERROR(add(members, leaves[i], forward[i]));
    }
    return base::ok();
  }

  base::Status add(const std::vector<std::size_t>& members, bool result, bool forward) {
    const std::size_t last = members.back();
    extract::RecomputeTask task{.bytes = bytes_[last], .result = result, .forward = forward};
    std::set<int> inputs;
    std::int64_t before = 0;  // of the operand in the same kernel
    for (const std::size_t i : members) {
      const PlacedNode& node = graph_->nodes[i];
      EGRET_ASSIGN_OR_RETURN(const double seconds, i == members.front()
                                                       ? prices_->seconds_alone(node)
                                                       : prices_->fused_seconds(node));
      task.cost += std::max(0.0, seconds);
      for (const std::size_t input : node.inputs) {
        if (task_of_[input] != kNone) inputs.insert(static_cast<int>(task_of_[input]));
      }
      std::int64_t scratch = before + bytes_[i] - task.bytes;
      if (node.kind == Kind::kRing)
        scratch +=
            static_cast<std::int64_t>(std::ceil(known_ring_program(*graph_, node).scratch_bytes()));
      task.scratch = std::max(task.scratch, scratch);
      before = bytes_[i];
    }
    // Members enter the table last: a task does not read itself.
    for (const std::size_t i : members) task_of_[i] = problem_.tasks.size();
    task.inputs.assign(inputs.begin(), inputs.end());
    problem_.tasks.push_back(std::move(task));
    members_.push_back(members);
    return base::ok();
  }

  // What the outputs need that are not carried: the loss.
  std::vector<bool> forward_nodes() const {
    std::vector<bool> needed(graph_->nodes.size(), false);
    std::set<std::size_t> carried;
    for (const auto& [node, output] : graph_->carried) carried.insert(output);
    for (std::size_t k = 0; k < graph_->outputs.size(); ++k) {
      if (!carried.contains(k)) needed[graph_->outputs[k].node] = true;
    }
    for (std::size_t i = graph_->nodes.size(); i-- > 0;) {
      if (!needed[i]) continue;
      for (const std::size_t input : graph_->nodes[i].inputs) needed[input] = true;
    }
    return needed;
  }

  const PlacedGraph* graph_;
  std::unique_ptr<ProgramPrices> prices_;
  std::vector<std::size_t> task_of_;               // by node; kNone: not in the steps
  std::vector<std::int64_t> bytes_;                // by node
  std::vector<std::vector<std::size_t>> members_;  // by task, in order
  extract::RecomputeProblem problem_;
};

}  // namespace

base::Result<std::optional<RecomputedProgram>> recomputed_program(const PlacedGraph& graph,
                                                                  const Cluster& machine,
                                                                  double limit_bytes,
                                                                  const RecomputeChoice& choice) {
  const double room = limit_bytes - held_bytes(graph).fixed;
  using Found = std::optional<RecomputedProgram>;
  if (room < 0) return Found();
  EGRET_ASSIGN_OR_RETURN(const PlacedTasks tasks,
                         PlacedTasks::of(graph, machine, choice.storage_bytes_per_second));
  const auto limit = static_cast<std::int64_t>(std::min(room, 9e18));
  EGRET_ASSIGN_OR_RETURN(const extract::RecomputeAnswer answer,
                         extract::recompute(tasks.problem(), limit,
                                            {.method = choice.method,
                                             .seconds = choice.seconds,
                                             .should_stop = base::stop_requested}));
  if (!answer.schedule) return Found();
  const double least = tasks.problem().least_cost();
  RecomputedProgram made{.program = tasks.in_order(answer.schedule->order())};
  made.memory_bytes = peak_bytes(made.program);
  const std::size_t copies = answer.schedule->copies();
  if (copies > 0) made.program.storage_bytes_per_second = choice.storage_bytes_per_second;
  if (made.memory_bytes > limit_bytes) return Found();
  made.recomputation = {.computations = answer.schedule->recomputations(tasks.problem()),
                        .copies = copies,
                        .time_s = std::max(0.0, answer.schedule->cost - least),
                        .bound_s = std::max(0.0, answer.bound - least)};
  return Found(std::move(made));
}

}  // namespace egret::parallel
