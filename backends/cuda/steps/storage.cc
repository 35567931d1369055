// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/steps/storage.h"

#include <algorithm>
#include <utility>

#include "backends/codegen/composition.h"
#include "backends/cuda/steps/axis_order.h"
#include "backends/cuda/steps/stored_constant.h"
#include "backends/prepare.h"

namespace egret::backends::cuda {
namespace {

using ir::Integers;
using ir::NodeId;

ir::TensorType moved(const ir::TensorType& type, const Integers& perm) {
  ir::Shape sizes;
  const ir::Shape from = type.shape();
  for (const std::int64_t axis : perm) sizes.push_back(from[static_cast<std::size_t>(axis)]);
  return {type.dtype, sizes};
}

NodeId append_operator(ir::Graph& graph, const char* op, std::vector<NodeId> inputs,
                       ir::Attrs attrs, ir::TensorType type) {
  ir::Node node;
  node.op = ir::find_operator(op);
  node.attrs = std::move(attrs);
  node.inputs = std::move(inputs);
  node.type = std::move(type);
  return graph.append(std::move(node));
}

NodeId append_transpose(ir::Graph& graph, NodeId x, Integers perm) {
  ir::TensorType type = moved(graph.node(x).type, perm);
  return append_operator(graph, "transpose", {x}, {{"perm", std::move(perm)}}, std::move(type));
}

NodeId append_cast(ir::Graph& graph, NodeId x, ir::DType to) {
  ir::TensorType type(to, graph.node(x).type.shape());
  return append_operator(graph, "cast", {x}, {{"to", std::string(to_string(to))}}, std::move(type));
}

// Clips finite numbers to bf16's range; infinities and NaN stay.
NodeId append_bound(ir::Graph& graph, NodeId x, std::vector<NodeId>& nodes) {
  const ir::TensorType type = graph.node(x).type;
  const std::int64_t yes = 1;
  const NodeId infinite =
      append_operator(graph, "is_inf", {x}, {{"detect_negative", yes}, {"detect_positive", yes}},
                      {ir::DType::kBool, type.shape()});
  const NodeId bounded =
      append_operator(graph, "clip", {x}, {{"min", -kMostBF16}, {"max", kMostBF16}}, type);
  const NodeId bound = append_operator(graph, "where", {infinite, x, bounded}, {}, type);
  nodes.insert(nodes.end(), {infinite, bounded, bound});
  return bound;
}

// Values, by node, that convolutions read or write, and values of equal rank that regions connect
// with them (to a fixed point): a step may end at any of these.
std::vector<bool> around_convolutions(const ir::Graph& graph,
                                      std::span<const codegen::Region> regions,
                                      std::span<const LibraryRegion> steps) {
  std::vector<bool> marked(graph.size(), false);
  // Whether any was not marked before.
  const auto mark = [&](const std::vector<NodeId>& nodes, const std::vector<NodeId>& inputs) {
    bool changed = false;
    for (const auto* list : {&nodes, &inputs}) {
      for (const NodeId id : *list) {
        if (graph.node(id).type.rank() != graph.node(nodes.back()).type.rank()) continue;
        changed = changed || !marked[id.index()];
        marked[id.index()] = true;
      }
    }
    return changed;
  };
  for (const LibraryRegion& step : steps) {
    if (step.step->prefers_channels_last()) mark(step.nodes, step.inputs);
  }
  // A fixed point: marks only grow, so it ends after at most one pass per value.
  for (bool changed = true; changed;) {
    changed = false;
    for (const codegen::Region& region : regions) {
      const int rank = graph.node(region.root()).type.rank();
      const auto joins = [&](NodeId id) {
        return marked[id.index()] && graph.node(id).type.rank() == rank;
      };
      if (joins(region.root()) || std::ranges::any_of(region.inputs, joins))
        changed = mark(region.nodes, region.inputs) || changed;
    }
  }
  return marked;
}

}  // namespace

Storage::Storage(const ir::Graph& graph, std::span<const codegen::Region> regions,
                 std::span<const LibraryRegion> steps, const StorageOptions& options)
    : graph_(graph), options_(options), is_output_(graph.size(), false) {
  if (options.channels_last) channels_last_ = around_convolutions(graph, regions, steps);
  for (const auto& output : graph.outputs()) is_output_[output.node.index()] = true;
}

// ---- Forms

bool Storage::is_narrow(NodeId value) const {
  return options_.narrow && graph_.node(value).type.dtype == ir::DType::kF32;
}

bool Storage::is_channels_last(NodeId value) const {
  const ir::TensorType& type = graph_.node(value).type;
  return !channels_last_.empty() && channels_last_[value.index()] && ir::is_float(type.dtype) &&
         type.rank() >= 3;
}

bool Storage::has_stored(NodeId value) const {
  return graph_.node(value).type.elements() > 1 && (is_narrow(value) || is_channels_last(value));
}

ir::Tensor Storage::stored(NodeId constant) const {
  return stored_constant(graph_.node(constant).data, is_channels_last(constant),
                         is_narrow(constant));
}

ir::TensorType Storage::stored_type(NodeId value) const {
  ir::TensorType type = graph_.node(value).type;
  if (is_channels_last(value)) type = moved(type, channels_behind(type.rank()));
  if (is_narrow(value)) type.dtype = ir::DType::kBF16;
  return type;
}

NodeId Storage::encode(ir::Graph& to, NodeId plain, NodeId value, Overflow overflow,
                       std::vector<NodeId>& nodes) const {
  if (is_channels_last(value)) {
    plain = append_transpose(to, plain, channels_behind(graph_.node(value).type.rank()));
    nodes.push_back(plain);
  }
  if (is_narrow(value)) {
    if (overflow == Overflow::kLargest) plain = append_bound(to, plain, nodes);
    nodes.push_back(plain = append_cast(to, plain, ir::DType::kBF16));
  }
  to.rename(plain, node_label(graph_, value));
  return plain;
}

// The inverse of encode(), in reverse order: widening first, then the axes.
NodeId Storage::decode(ir::Graph& to, NodeId stored, NodeId value,
                       std::vector<NodeId>& nodes) const {
  if (is_narrow(value)) nodes.push_back(stored = append_cast(to, stored, ir::DType::kF32));
  if (is_channels_last(value)) {
    stored = append_transpose(to, stored, channels_before(graph_.node(value).type.rank()));
    nodes.push_back(stored);
  }
  return stored;
}

// ---- Regions

std::vector<NodeId> Storage::taken_by(std::span<const NodeId> region) const {
  std::vector<NodeId> values;
  for (const NodeId id : region) {
    for (const NodeId input : graph_.node(id).inputs) {
      if (!std::ranges::binary_search(region, input)) values.push_back(input);
    }
  }
  std::ranges::sort(values);
  const auto repeated = std::ranges::unique(values);
  values.erase(repeated.begin(), repeated.end());
  return values;
}

// Copies the region between conversions: stored leaves are decoded to plain values, and the root is
// encoded. A step must compute the composition of all three.
std::vector<NodeId> Storage::append(ir::Graph& to, std::span<const NodeId> region,
                                    const Leaves& leaves, bool root_stored, Overflow overflow,
                                    std::vector<NodeId>* copies) const {
  std::vector<NodeId> nodes;
  std::map<NodeId, NodeId> at;
  for (const auto& [value, leaf] : leaves)
    at[value] = leaf.stored ? decode(to, leaf.id, value, nodes) : leaf.id;
  for (const NodeId id : region) {
    ir::Node node = graph_.node(id);
    for (NodeId& input : node.inputs) input = at.at(input);
    nodes.push_back(at[id] = to.append(std::move(node)));
    if (copies != nullptr) copies->push_back(nodes.back());
  }
  if (root_stored) encode(to, nodes.back(), region.back(), overflow, nodes);
  return nodes;
}

// ---- Library steps

// A vector constant (a bias) takes the result's type.
bool Storage::is_read_stored(NodeId value, bool reads_stored, bool writes_stored) const {
  const ir::Node& node = graph_.node(value);
  const bool adapts = node.kind == ir::NodeKind::kConstant && is_vector(node.type);
  return has_stored(value) && reads_stored && (writes_stored || !adapts);
}

LibraryRegion Storage::step(const std::vector<NodeId>& nodes,
                            std::span<const MakeStep> makers) const {
  struct Way {
    bool reads_stored, writes_stored;
  };
  const NodeId root = nodes.back();
  std::vector<Way> ways{{false, false}};
  const auto is_stored = [&](NodeId value) { return has_stored(value); };
  if (is_stored(root) || std::ranges::any_of(taken_by(nodes), is_stored)) {
    ways = {{true, true}, {true, false}, {false, false}};
    // Prefer a step without conversions: stored operands and result; an output is wanted plain.
    if (is_output(root)) std::swap(ways[0], ways[1]);
  }
  // The first way for which some library has a step is taken.
  for (const Way& way : ways) {
    LibraryRegion made =
        tried(nodes, makers, way.reads_stored, way.writes_stored && has_stored(root));
    if (made.step != nullptr) return made;
  }
  return {};
}

// The region as a graph of its own. Constants stay constants unless they are read in their stored
// form.
Storage::Apart Storage::apart(const std::vector<NodeId>& nodes, bool reads_stored,
                              bool writes_stored) const {
  Apart made;
  made.values = taken_by(nodes);
  Leaves leaves;
  for (const NodeId value : made.values) {
    const bool is_stored = is_read_stored(value, reads_stored, writes_stored);
    ir::Node leaf = graph_.node(value);
    if (is_stored || leaf.kind != ir::NodeKind::kConstant) {
      leaf = {};
      leaf.kind = ir::NodeKind::kInput;
      leaf.type = is_stored ? stored_type(value) : graph_.node(value).type;
    }
    leaves[value] = {made.graph.append(std::move(leaf)), is_stored};
  }
  made.nodes = append(made.graph, nodes, leaves, writes_stored);
  return made;
}

// Looks for a step in the small graph of the region alone, with these forms, and translates its
// inputs back.
LibraryRegion Storage::tried(const std::vector<NodeId>& nodes, std::span<const MakeStep> makers,
                             bool reads_stored, bool writes_stored, const OutputPart* part) const {
  Apart own = apart(nodes, reads_stored, writes_stored);
  LibraryRegion made = make_step(own.graph, std::move(own.nodes), makers, part);
  made.nodes = nodes;
  for (NodeId& input : made.inputs) input = own.values[input.index()];
  made.reads_stored = reads_stored;
  made.writes_stored = writes_stored;
  return made;
}

LibraryRegion Storage::step_as(const LibraryRegion& like, std::span<const MakeStep> makers,
                               const OutputPart& part) const {
  return tried(like.nodes, makers, like.reads_stored, like.writes_stored, &part);
}

base::Result<Storage::StoredDefinition> Storage::stored_definition(
    const std::vector<NodeId>& nodes) const {
  const Apart own = apart(nodes, true, has_stored(nodes.back()));
  EGRET_ASSIGN_OR_RETURN(codegen::Composition composition, codegen::compose(own.graph, own.nodes));
  StoredDefinition made{std::move(composition.denotation), {}, {}};
  for (const NodeId input : composition.inputs) {
    made.types.push_back(own.graph.node(input).type);
    made.inputs.push_back(own.values[input.index()]);
  }
  return made;
}

}  // namespace egret::backends::cuda
