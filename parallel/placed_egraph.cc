// SPDX-License-Identifier: Apache-2.0
#include "parallel/placed_egraph.h"

#include <algorithm>

namespace egret::parallel {

using base::Result;
using base::Status;
using egraph::ClassId;
using egraph::NodeId;
using egraph::OpId;

Result<std::unique_ptr<PlacedEGraph>> PlacedEGraph::of(const rules::TensorEGraph& tensors,
                                                       const Mesh& mesh, const Request& request) {
  std::unique_ptr<PlacedEGraph> result(new PlacedEGraph(tensors, mesh, request));
  const auto& outputs = request.outputs;
  const std::vector<ClassId> values = tensors.roots();
  EGRET_CHECK(values.size() == outputs.size(), "a placement for each output");
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!outputs[i]) {
      EGRET_ASSIGN_OR_RETURN(const ClassId root, result->want_any(values[i]));
      result->roots_.push_back(root);
      continue;
    }
    EGRET_RETURN_IF_ERROR(local_type(tensors.type(values[i]), *outputs[i], mesh).status());
    if (outputs[i]->has_partial()) return base::usage_error("an output as a partial result");
    EGRET_ASSIGN_OR_RETURN(const ClassId root, result->want(values[i], *outputs[i]));
    result->roots_.push_back(root);
  }
  while (!result->pending_.empty()) {
    if (result->placed_.size() > request.limit_nodes) {
      return base::limit_hit("more than " + std::to_string(request.limit_nodes) +
                             " placed values; a mesh with fewer axes has fewer");
    }
    const auto [key, id] = result->pending_.back();
    result->pending_.pop_back();
    EGRET_RETURN_IF_ERROR(result->fill(key, id));
  }
  EGRET_RETURN_IF_ERROR(result->egraph_->rebuild());
  for (ClassId& root : result->roots_) root = result->egraph_->find(root);
  return result;
}

OpId PlacedEGraph::operation(std::string_view base, std::size_t arity, const std::string& payload,
                             const Meaning& meaning) {
  const std::string key = std::string(base) + "\n" + payload;
  const auto [found, is_new] = payloads_.try_emplace(key, payloads_.size());
  const OpId op = ops_.op(base, arity, found->second);
  if (meanings_.size() <= op.index()) meanings_.resize(op.index() + 1);
  if (is_new || meanings_[op.index()].kind == Kind::kValue) meanings_[op.index()] = meaning;
  return op;
}

NodeId PlacedEGraph::leaf_of(ClassId value) const {
  for (const NodeId node : tensors_.egraph().nodes(value)) {
    if (tensors_.language().kind(tensors_.egraph().op(node)) != ir::NodeKind::kOperator)
      return node;
  }
  return {};
}

bool PlacedEGraph::is_carried(NodeId leaf) const {
  const OpId op = tensors_.egraph().op(leaf);
  return tensors_.language().is_input(op) &&
         request_.carried.contains(tensors_.language().leaf_name(op));
}

Result<ClassId> PlacedEGraph::want(ClassId value, const Placement& placement) {
  const Key key{tensors_.egraph().find(value), placement};
  const auto known = classes_.find(key);
  if (known != classes_.end()) return known->second;
  const auto type = local_type(tensors_.type(key.first), placement, mesh_);
  if (!type.ok() || !cuts_in_order(placement)) return ClassId{};
  const std::string name = std::to_string(key.first.index());
  EGRET_ASSIGN_OR_RETURN(const ClassId leaf,
                         egraph_->add(operation("value", 0, name, {.kind = Kind::kValue})));
  const std::string at = to_string(placement, mesh_);
  EGRET_ASSIGN_OR_RETURN(const ClassId id,
                         egraph_->add(operation("place", 1, at, {.kind = Kind::kPlace}), {leaf}));
  classes_.emplace(key, id);
  placed_.emplace(id.index(), Placed{key.first, placement, *type});
  pending_.emplace_back(key, id);
  return id;
}

Result<ClassId> PlacedEGraph::want_any(ClassId value) {
  ClassId id;
  for (const Placement& placement : whole_placements(tensors_.type(value), mesh_)) {
    EGRET_ASSIGN_OR_RETURN(const ClassId placed, want(value, placement));
    if (!placed.valid()) continue;
    const OpId keep = operation("keep", 1, to_string(placement, mesh_), {.kind = Kind::kKeep});
    if (id.valid()) {
      EGRET_RETURN_IF_ERROR(egraph_->add_to(id, keep, std::span(&placed, 1)).status());
    } else {
      EGRET_ASSIGN_OR_RETURN(id, egraph_->add(keep, {placed}));
    }
  }
  return id;
}

Status PlacedEGraph::fill(const Key& key, ClassId id) {
  const auto& [value, placement] = key;
  if (const NodeId leaf = leaf_of(value); leaf.valid()) {
    // Inputs and weights are where they are wanted.
    if (!placement.has_partial() && !is_carried(leaf)) return base::ok();
    EGRET_RETURN_IF_ERROR(add_first_reading(key, id, leaf));
  } else {
    for (const NodeId node : tensors_.egraph().nodes(value))
      EGRET_RETURN_IF_ERROR(add_operator(key, id, node));
  }
  const int rank = tensors_.type(value).rank();
  for (int axis = 0; axis < mesh_.axis_count(); ++axis) {
    if (mesh_.size(axis) == 1) continue;
    if (placement.along(axis).is_split() && !placement.is_last_cut(axis)) continue;
    for (const Collective& collective : collectives_to(axis, placement.along(axis), rank)) {
      const Placement before = placement.with(axis, collective.from);
      // What the collective leaves is this placement: it cuts last.
      if (before.with(axis, collective.to) != placement) continue;
      if (collective.from.is_split() && !before.is_last_cut(axis)) continue;
      EGRET_ASSIGN_OR_RETURN(const ClassId from, want(value, before));
      if (!from.valid()) continue;
      const std::string text =
          mesh_.axis(axis).name + " " + to_string(collective.from) + " " + to_string(collective.to);
      const OpId op = operation(name_of(collective), 1, text,
                                {.kind = Kind::kCollective, .collective = collective});
      EGRET_RETURN_IF_ERROR(egraph_->add_to(id, op, std::span(&from, 1)).status());
    }
  }
  return base::ok();
}

Status PlacedEGraph::add_first_reading(const Key& key, ClassId id, NodeId leaf) {
  const OpId op = tensors_.egraph().op(leaf);
  if (!tensors_.language().is_input(op)) return base::ok();
  const auto first = request_.again.find(tensors_.language().leaf_name(op));
  if (first == request_.again.end()) return base::ok();
  for (const ClassId value : tensors_.egraph().classes()) {
    const NodeId other = leaf_of(value);
    if (!other.valid() || tensors_.language().is_constant(tensors_.egraph().op(other))) continue;
    if (tensors_.language().leaf_name(tensors_.egraph().op(other)) != first->second) continue;
    EGRET_ASSIGN_OR_RETURN(const ClassId held, want(value, key.second));
    const OpId same = operation("same", 1, "", {.kind = Kind::kSame});
    return egraph_->add_to(id, same, std::span(&held, 1)).status();
  }
  return base::ok();
}

Status PlacedEGraph::add_operator(const Key& key, ClassId id, NodeId node) {
  const OpId op = tensors_.egraph().op(node);
  Way way;
  way.attrs = tensors_.language().attrs(op);
  for (const ClassId child : tensors_.egraph().children(node)) {
    way.parts.push_back(tensors_.type(child));
    way.inputs.emplace_back(mesh_.axis_count());
  }
  return add_ways(key, id, node, 0, way);
}

Status PlacedEGraph::add_ways(const Key& key, ClassId id, NodeId node, int axis, const Way& way) {
  const OpId sequential = tensors_.egraph().op(node);
  const ir::Operator& op = tensors_.language().op(sequential);
  if (axis < mesh_.axis_count()) {
    const std::int64_t devices = mesh_.size(axis);
    const AxisPlacement wanted = key.second.along(axis);
    if (devices == 1) return wanted.is_copy() ? add_ways(key, id, node, axis + 1, way) : base::ok();
    for (const Law& law : laws(op, way.attrs, way.parts, devices)) {
      if (law.output != wanted) continue;
      Way next{law.attrs, way.parts, way.inputs};
      for (std::size_t i = 0; i < law.inputs.size(); ++i) {
        next.parts[i] = *part_type(way.parts[i], law.inputs[i], devices);
        next.inputs[i] = way.inputs[i].with(axis, law.inputs[i]);
      }
      EGRET_RETURN_IF_ERROR(add_ways(key, id, node, axis + 1, next));
    }
    return base::ok();
  }
  std::vector<ClassId> children;
  const auto values = tensors_.egraph().children(node);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EGRET_ASSIGN_OR_RETURN(const ClassId child, want(values[i], way.inputs[i]));
    if (!child.valid()) return base::ok();
    children.push_back(child);
  }
  const std::string text = std::to_string(sequential.index()) + " " + to_string(way.attrs);
  const OpId part =
      operation(op.name(), children.size(), text,
                {.kind = Kind::kOperator, .sequential = sequential, .part_attrs = way.attrs});
  return egraph_->add_to(id, part, children).status();
}

const std::vector<Law>& PlacedEGraph::laws(const ir::Operator& op, const ir::Attrs& attrs,
                                           std::span<const ir::TensorType> types,
                                           std::int64_t devices) {
  std::string key = op.name() + to_string(attrs) + std::to_string(devices);
  for (const ir::TensorType& type : types) key += " " + ir::to_string(type);
  const auto known = laws_.find(key);
  if (known != laws_.end()) return known->second;
  return laws_.emplace(key, laws_of(op, attrs, types, devices)).first->second;
}

}  // namespace egret::parallel
