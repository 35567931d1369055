// SPDX-License-Identifier: Apache-2.0
#include "driver/recompute/kernel_tasks.h"

#include <algorithm>
#include <utility>

#include "backends/division.h"
#include "cost/model.h"
#include "ir/nest/work.h"

namespace egret::driver {
namespace {

bool is_inside(const std::vector<ir::NodeId>& kernel, ir::NodeId id) {
  return std::ranges::binary_search(kernel, id);
}

// The values that a kernel reads, each once.
std::vector<ir::NodeId> read_by(const ir::Graph& graph, const std::vector<ir::NodeId>& kernel) {
  std::vector<ir::NodeId> read;
  for (const ir::NodeId id : kernel) {
    for (const ir::NodeId input : graph.node(id).inputs) {
      if (!is_inside(kernel, input) && std::ranges::count(read, input) == 0) read.push_back(input);
    }
  }
  return read;
}

base::Result<double> roofline_of(const ir::Graph& graph, const std::vector<ir::NodeId>& kernel) {
  ir::Work sum;
  for (const ir::NodeId id : kernel) {
    EGRET_ASSIGN_OR_RETURN(const ir::Work work, ir::work_of(graph, graph.node(id)));
    sum.flops += work.flops;
    if (kernel.size() == 1) sum.bytes_read = work.bytes_read;
  }
  if (kernel.size() > 1) {
    for (const ir::NodeId id : read_by(graph, kernel))
      sum.bytes_read += static_cast<double>(graph.node(id).type.bytes());
  }
  sum.bytes_written = static_cast<double>(graph.node(kernel.back()).type.bytes());
  const cost::Rates rates;
  return rates.seconds_per_kernel + cost::roofline_seconds(sum, rates);
}

// By node: whether the first output needs it.
std::vector<bool> forward_nodes(const ir::Graph& graph) {
  std::vector<bool> needed(graph.size(), false);
  if (!graph.outputs().empty()) needed[graph.outputs().front().node.index()] = true;
  for (std::size_t i = graph.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const ir::NodeId input : graph.node(ir::NodeId(i)).inputs) needed[input.index()] = true;
  }
  return needed;
}

// The graph under construction.
class Scheduled {
 public:
  Scheduled(const ir::Graph& graph, const KernelTasks& tasks)
      : graph_(graph),
        tasks_(tasks),
        copy_(graph.size()),
        first_(graph.size()),
        source_(graph.size()) {
    made_.graph.copy_header(graph);
    // A kept division of the original says nothing of the copies.
    made_.graph.metadata.erase(std::string(backends::kKernelsKey));
    view_of_.assign(graph.size(), -1);
    for (std::size_t k = 0; k < tasks.views.size(); ++k)
      view_of_[tasks.views[k].back().index()] = static_cast<int>(k);
    const std::vector<bool> once = backends::computed_once(graph);
    for (std::size_t i = 0; i < graph.size(); ++i) {
      if (once[i] || graph.node(ir::NodeId(i)).kind == ir::NodeKind::kInput)
        append(ir::NodeId(i), {});
    }
  }

  // A computation of a task, or a copy back of its value.
  void add(int step) {
    const auto& kernel = tasks_.kernels[static_cast<std::size_t>(extract::task_of(step))];
    if (extract::is_back(step)) {
      bring_back(kernel.back());
      return;
    }
    append_kernel(kernel, step);
    ir::NodeId& first = first_[kernel.back().index()];
    if (!first.valid()) first = copy_[kernel.back().index()];
  }

  ScheduledGraph finish() {
    for (const auto& output : graph_.outputs())
      made_.graph.add_output(output.name, value(output.node));
    return std::move(made_);
  }

 private:
  using Copies = std::vector<std::pair<ir::NodeId, ir::NodeId>>;

  // `inside`: copies of the same kernel's nodes.
  ir::NodeId append(ir::NodeId id, const Copies& inside) {
    ir::Node node = graph_.node(id);
    for (ir::NodeId& input : node.inputs) {
      const auto found = std::ranges::find(inside, input, &Copies::value_type::first);
      input = found != inside.end() ? found->second : copy_[input.index()];
    }
    // Names are unique.
    if (node.kind == ir::NodeKind::kOperator && copy_[id.index()].valid()) node.name.clear();
    copy_[id.index()] = made_.graph.append(std::move(node));
    return copy_[id.index()];
  }

  void bring_back(ir::NodeId id) {
    const ir::NodeId from = first_[id.index()];
    const ir::NodeId made = made_.graph.append(
        {.op = &ir::get_operator("identity"), .inputs = {from}, .type = graph_.node(id).type});
    copy_[id.index()] = made;
    made_.division.push_back({made});
    made_.tasks.push_back(-1);
    made_.stored_values.push_back({from, made});
  }

  void append_kernel(const std::vector<ir::NodeId>& kernel, int task) {
    for (const ir::NodeId read : read_by(graph_, kernel)) (void)value(read);
    Copies inside;
    std::vector<ir::NodeId> nodes;
    for (const ir::NodeId id : kernel) {
      inside.emplace_back(id, append(id, inside));
      nodes.push_back(inside.back().second);
    }
    made_.division.push_back(std::move(nodes));
    made_.tasks.push_back(task);
  }

  // The latest copy of a value; a view is made of the latest copy of what it renames.
  ir::NodeId value(ir::NodeId id) {
    const int view = view_of_[id.index()];
    if (view < 0) return copy_[id.index()];
    const auto& kernel = tasks_.views[static_cast<std::size_t>(view)];
    for (const ir::NodeId read : read_by(graph_, kernel)) {
      const ir::NodeId source = value(read);
      if (graph_.node(read).kind == ir::NodeKind::kConstant || source_[id.index()] == source)
        continue;
      source_[id.index()] = source;
      append_kernel(kernel, -1);
    }
    return copy_[id.index()];
  }

  const ir::Graph& graph_;
  const KernelTasks& tasks_;
  ScheduledGraph made_;
  std::vector<ir::NodeId> copy_;    // by node of the given graph
  std::vector<ir::NodeId> first_;   // the same, of values of tasks
  std::vector<ir::NodeId> source_;  // by view: the copy that its own latest copy renames
  std::vector<int> view_of_;
};

}  // namespace

base::Result<KernelTasks> kernel_tasks(const ir::Graph& graph, const backends::Division& division) {
  backends::Division kernels = division;
  std::ranges::sort(kernels, {}, [](const auto& kernel) { return kernel.back(); });
  const std::vector<bool> once = backends::computed_once(graph);
  const std::vector<bool> forward = forward_nodes(graph);
  std::vector<bool> leaves(graph.size(), false);
  for (const auto& output : graph.outputs()) leaves[output.node.index()] = true;

  constexpr int kNowhere = -2, kOutside = -1;
  // By node: the task whose value it is; of a view, that of what it renames.
  std::vector<int> task_of(graph.size(), kNowhere);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (once[i] || graph.node(ir::NodeId(i)).kind != ir::NodeKind::kOperator) task_of[i] = kOutside;
  }
  KernelTasks tasks;
  for (std::vector<ir::NodeId>& kernel : kernels) {
    const ir::NodeId last = kernel.back();
    std::vector<int> inputs;
    std::size_t sources = 0;
    for (const ir::NodeId read : read_by(graph, kernel)) {
      const int from = task_of[read.index()];
      if (from == kNowhere)
        return base::unsupported("recomputation of kernels that store several values: " +
                                 backends::node_label(graph, read));
      if (!once[read.index()]) ++sources;
      if (from >= 0 && std::ranges::count(inputs, from) == 0) inputs.push_back(from);
    }
    std::ranges::sort(inputs);
    const bool renames =
        sources == 1 && !leaves[last.index()] && std::ranges::all_of(kernel, [&](ir::NodeId id) {
          return cost::is_view(*graph.node(id).op);
        });
    if (renames) {
      task_of[last.index()] = inputs.empty() ? kOutside : inputs.front();
      tasks.views.push_back(std::move(kernel));
      continue;
    }
    EGRET_ASSIGN_OR_RETURN(const double seconds, roofline_of(graph, kernel));
    task_of[last.index()] = static_cast<int>(tasks.kernels.size());
    tasks.problem.tasks.push_back(
        {.cost = seconds,
         .bytes = leaves[last.index()] ? 0 : graph.node(last).type.bytes(),
         .inputs = std::move(inputs),
         .result = leaves[last.index()],
         .forward = forward[last.index()]});
    tasks.kernels.push_back(std::move(kernel));
  }
  return tasks;
}

ScheduledGraph scheduled_graph(const ir::Graph& graph, const KernelTasks& tasks,
                               std::span<const int> order) {
  Scheduled scheduled(graph, tasks);
  for (const int step : order) scheduled.add(step);
  return scheduled.finish();
}

}  // namespace egret::driver
