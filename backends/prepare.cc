// SPDX-License-Identifier: Apache-2.0
#include "backends/prepare.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ir/graph/body.h"
#include "ir/graph/constant_nodes.h"

namespace egret::backends {
namespace {

constexpr std::int64_t kMaxTensorBytes = std::int64_t{1} << 40;
// A constant that grows a lot when folded (a broadcast) stays for run time, where it is a view.
constexpr std::int64_t kFoldAlwaysBytes = 1 << 20;
constexpr std::int64_t kFoldGrowth = 8;

base::Status check_types(const ir::Graph& graph) {
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const ir::TensorType& type = graph.node(ir::NodeId(i)).type;
    const std::string label = node_label(graph, ir::NodeId(i));
    if (!type.is_concrete()) {
      return base::unsupported(label + " has the symbolic type " + to_string(type) +
                               "; bind its sizes with --bind NAME=SIZE");
    }
    const auto count = ir::element_count(type.shape());
    if (!count || *count > kMaxTensorBytes / 8)
      return base::limit_hit(label + " of type " + to_string(type) + " does not fit in memory");
  }
  return base::ok();
}

bool has_symbols(const ir::Graph& graph) {
  return std::ranges::any_of(graph.nodes(),
                             [](const ir::Node& n) { return !n.type.is_concrete(); });
}

// One pass; bodies may hold further composites. True in `changed` when there was one.
base::Result<PreparedGraph> expand_once(const PreparedGraph& from, const TakesComposite& takes,
                                        bool& changed) {
  PreparedGraph to;
  to.graph.name = from.graph.name;
  std::vector<ir::NodeId> map(from.graph.size());
  const auto append = [&](ir::Node node, ir::NodeId origin) {
    to.origin.push_back(origin);
    return to.graph.append(std::move(node));
  };
  for (std::size_t i = 0; i < from.graph.size(); ++i) {
    ir::Node node = from.graph.node(ir::NodeId(i));
    std::vector<ir::TensorType> types;
    for (const ir::NodeId input : node.inputs) types.push_back(from.graph.node(input).type);
    // A composite stays only where the backend has a kernel for it; otherwise its body replaces it.
    const bool keep = node.kind != ir::NodeKind::kOperator || !node.op->is_composite() ||
                      takes(from.graph, ir::NodeId(i));
    for (ir::NodeId& input : node.inputs) input = map[input.index()];
    if (keep) {
      map[i] = append(std::move(node), from.origin[i]);
      continue;
    }
    changed = true;
    EGRET_ASSIGN_OR_RETURN(const ir::Graph body, ir::body_graph(*node.op, node.attrs, types));
    // The body's inputs are the composite's; its other nodes are copied in order, and its output
    // stands for the composite from then on.
    std::vector<ir::NodeId> inner(body.size());
    for (std::size_t k = 0; k < body.inputs().size(); ++k)
      inner[body.inputs()[k].index()] = node.inputs[k];
    for (std::size_t k = 0; k < body.size(); ++k) {
      ir::Node part = body.node(ir::NodeId(k));
      if (part.kind == ir::NodeKind::kInput) continue;
      for (ir::NodeId& input : part.inputs) input = inner[input.index()];
      // Names must stay unique; the origin still maps body nodes to the composite.
      part.name.clear();
      inner[k] = append(std::move(part), from.origin[i]);
    }
    map[i] = inner[body.outputs()[0].node.index()];
  }
  for (const auto& output : from.graph.outputs())
    to.graph.add_output(output.name, map[output.node.index()]);
  return to;
}

PreparedGraph without_dead(const PreparedGraph& from) {
  PreparedGraph to;
  to.graph = ir::without_dead_nodes(from.graph);
  for (const ir::NodeId id : ir::live_nodes(from.graph))
    to.origin.push_back(from.origin[id.index()]);
  to.folded_nodes = from.folded_nodes;
  return to;
}

// Nodes that depend on constants alone and are worth keeping as such. A node without inputs (fill)
// is the only source of its values and always is.
std::vector<bool> foldable(const ir::Graph& graph) {
  return ir::constant_nodes(graph, [&](const ir::Node& node) {
    std::int64_t read = 0;
    for (const ir::NodeId input : node.inputs) read += graph.node(input).type.bytes();
    return node.inputs.empty() || node.type.bytes() <= kFoldAlwaysBytes ||
           node.type.bytes() <= kFoldGrowth * read;
  });
}

// Computes the constant part of the graph once, with the backend itself, and replaces it by
// constants. Only values that the rest reads are kept.
base::Result<PreparedGraph> fold_constants(const Backend& backend, const PreparedGraph& from,
                                           const CompileOptions& options) {
  const ir::Graph& graph = from.graph;
  const std::vector<bool> constant = foldable(graph);
  // The values wanted of the constant part: those that the rest, or the caller, reads.
  std::vector<bool> wanted(graph.size(), false);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (constant[i]) continue;
    for (const ir::NodeId input : graph.node(ir::NodeId(i)).inputs) wanted[input.index()] = true;
  }
  for (const auto& output : graph.outputs()) wanted[output.node.index()] = true;

  ir::Graph part;
  std::vector<ir::NodeId> in_part(graph.size());
  std::vector<ir::NodeId> folded;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (!constant[i]) continue;
    ir::Node node = graph.node(ir::NodeId(i));
    for (ir::NodeId& input : node.inputs) input = in_part[input.index()];
    const bool computed = node.kind == ir::NodeKind::kOperator;
    in_part[i] = part.append(std::move(node));
    if (!computed || !wanted[i]) continue;
    part.add_output("v" + std::to_string(i), in_part[i]);
    folded.emplace_back(i);
  }
  if (folded.empty()) return from;
  // The constant part is a graph without inputs, compiled and run once by the backend itself.
  CompileOptions once = options;
  once.fold = false;
  once.profile = once.report_only = false;
  once.division.clear();
  once.search = false;  // it runs once
  once.streams = 1;
  once.slices = 1;                   // the same constants for all of them
  once.emission = Emission::kNone;   // to compile takes longer than to interpret once
  once.precision = Precision::kF32;  // what is computed once need not be fast
  EGRET_ASSIGN_OR_RETURN(const auto plan, backend.compile(part, once));
  EGRET_ASSIGN_OR_RETURN(const std::vector<ir::Tensor> values, plan->run({}));

  std::map<ir::NodeId, ir::Tensor> constants;
  for (std::size_t i = 0; i < folded.size(); ++i) constants.emplace(folded[i], values[i]);
  return PreparedGraph{.graph = ir::with_constants(graph, constants),
                       .origin = from.origin,
                       .folded_nodes = static_cast<std::int64_t>(part.operator_count())};
}

}  // namespace

// At most one axis has a size other than 1.
bool is_vector(const ir::TensorType& type) {
  const ir::Shape shape = type.shape();
  return std::ranges::count_if(shape, [](std::int64_t size) { return size != 1; }) <= 1;
}

std::vector<ir::Tensor> constants_of(const ir::Graph& graph) {
  std::vector<ir::Tensor> constants;
  constants.reserve(graph.size());
  for (const ir::Node& node : graph.nodes()) constants.push_back(node.data);
  return constants;
}

// Moves large constants out of the graph, so that a backend can free each one as soon as it is
// packed. Vectors stay: kernels look at their values.
std::vector<ir::Tensor> take_constants(ir::Graph& graph) {
  std::vector<ir::Tensor> constants = constants_of(graph);
  ir::Graph rest;
  rest.name = std::move(graph.name);
  rest.metadata = std::move(graph.metadata);
  for (const ir::Node& node : graph.nodes()) {
    ir::Node kept = node;
    if (kept.kind == ir::NodeKind::kConstant && !is_vector(kept.type)) kept.data = {};
    rest.append(std::move(kept));
  }
  for (const auto& output : graph.outputs()) rest.add_output(output.name, output.node);
  graph = std::move(rest);
  return constants;
}

// Removes dead nodes, expands composites without a kernel until none is left, checks sizes and
// folds. `origin` maps each node to one of the given graph throughout.
base::Result<PreparedGraph> prepare(const Backend& backend, const ir::Graph& graph,
                                    const CompileOptions& options, const TakesComposite& takes) {
  PreparedGraph prepared;
  prepared.graph = graph;
  for (std::size_t i = 0; i < graph.size(); ++i) prepared.origin.emplace_back(i);
  prepared = without_dead(prepared);
  // Bodies are expanded for concrete types only. This returns the error that names the symbolic
  // node.
  if (has_symbols(prepared.graph)) return check_types(prepared.graph);
  for (bool changed = true; changed;) {
    changed = false;
    EGRET_ASSIGN_OR_RETURN(prepared, expand_once(prepared, takes, changed));
  }
  EGRET_RETURN_IF_ERROR(check_types(prepared.graph));
  if (options.fold) {
    EGRET_ASSIGN_OR_RETURN(prepared, fold_constants(backend, prepared, options));
    prepared = without_dead(prepared);
  }
  return prepared;
}

}  // namespace egret::backends
