// SPDX-License-Identifier: Apache-2.0
#include "parallel/placed/placed_egraph.h"

#include <algorithm>

#include "base/stop.h"
#include "parallel/ring/ring_search.h"

namespace egret::parallel {

using base::Result;
using base::Status;
using egraph::ClassId;
using egraph::NodeId;
using egraph::OpId;

// A worklist from the outputs backward. Each pair of a value and a placement that is wanted becomes
// a class once, and fill() gives it all its e-nodes, which may want further pairs. There are
// finitely many pairs, so the construction ends. Cycles of collectives are allowed: the extraction
// excludes cyclic choices.
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
    if (outputs[i]->has_partial()) return base::usage_error("an output cannot be a partial result");
    EGRET_ASSIGN_OR_RETURN(const ClassId root, result->want(values[i], *outputs[i]));
    result->roots_.push_back(root);
  }
  while (!result->pending_.empty()) {
    if (result->placed_.size() > request.limit_nodes) {
      return base::limit_hit("more than " + std::to_string(request.limit_nodes) +
                             " placed values; use a mesh with fewer axes");
    }
    const auto [key, id] = result->pending_.back();
    result->pending_.pop_back();
    EGRET_RETURN_IF_ERROR(result->fill(key, id));
    // An interrupted derivation of laws may be incomplete, so no plan is made.
    if (base::stop_requested()) return base::limit_hit("interrupted; no plan was made");
  }
  EGRET_RETURN_IF_ERROR(result->egraph_->rebuild());
  for (ClassId& root : result->roots_) root = result->egraph_->find(root);
  return result;
}

// The payload makes e-nodes with different meanings different operators. Equal payloads under one
// name share an operator and its meaning.
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

// The class of a value under a placement, created on demand: only pairs that some operator or
// collective on the way from the outputs can use exist. An invalid id: the placement does not fit.
Result<ClassId> PlacedEGraph::want(ClassId value, const Placement& placement) {
  const Key key{tensors_.egraph().find(value), placement};
  const auto known = classes_.find(key);
  if (known != classes_.end()) return known->second;
  const auto type = local_type(tensors_.type(key.first), placement, mesh_);
  if (!type.ok() || !cuts_in_order(placement)) return ClassId{};
  const std::string name = std::to_string(key.first.index());
  // Each pair is an e-node of its own, "place" over the value's leaf. It anchors the class before
  // its operators are known. Only for inputs and weights can the extraction choose it
  // (Pricing::price()).
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

// A class with one "keep" node for each placement without partial results. The extraction chooses
// one of them.
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

// All e-nodes that compute the value in this placement: each of its operators under each law, and
// each collective from another placement.
Status PlacedEGraph::fill(const Key& key, ClassId id) {
  const auto& [value, placement] = key;
  if (const NodeId leaf = leaf_of(value); leaf.valid()) {
    // Inputs and weights exist in every placement without partial results.
    if (!placement.has_partial() && !is_carried(leaf)) return base::ok();
    EGRET_RETURN_IF_ERROR(add_first_reading(key, id, leaf));
  } else {
    for (const NodeId node : tensors_.egraph().nodes(value)) {
      if (base::stop_requested()) return base::limit_hit("interrupted; no plan was made");
      EGRET_RETURN_IF_ERROR(add_operator(key, id, node));
    }
  }
  const int rank = tensors_.type(value).rank();
  for (int axis = 0; axis < mesh_.axis_count(); ++axis) {
    if (mesh_.size(axis) == 1) continue;
    // A collective changes the innermost cut of a dimension only. With an inner cut in place, the
    // blocks of the outer one are not contiguous.
    if (placement.along(axis).is_split() && !placement.is_last_cut(axis)) continue;
    for (const Collective& collective : collectives_to(axis, placement.along(axis), rank)) {
      const Placement before = placement.with(axis, collective.from);
      // The collective's cut is the last of its dimension; it must yield exactly this placement.
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

// A second reading of an input may use the value of the first one, if this is still held in the
// same placement.
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
  for (const Implementation& way : ways_.of(node, key.second)) {
    EGRET_RETURN_IF_ERROR(add_way(key, id, node, way));
    if (request_.rings) EGRET_RETURN_IF_ERROR(add_rings(key, id, node, way));
  }
  return base::ok();
}

// Adds the operator on parts, over its operands in the placements that the way asks for. A way
// whose operand cannot have its placement is left out.
Status PlacedEGraph::add_way(const Key& key, ClassId id, NodeId node, const Implementation& way) {
  const OpId sequential = tensors_.egraph().op(node);
  std::vector<ClassId> children;
  const auto values = tensors_.egraph().children(node);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EGRET_ASSIGN_OR_RETURN(const ClassId child, want(values[i], way.inputs[i]));
    if (!child.valid()) return base::ok();
    children.push_back(child);
  }
  // With its placement: the blocks of a broadcast scalar are equal though they are cut in other
  // dimensions, and a class has one placement.
  const std::string text = std::to_string(sequential.index()) + " " + to_string(way.attrs) + " " +
                           to_string(key.second, mesh_);
  const OpId part =
      operation(tensors_.language().op(sequential).name(), children.size(), text,
                {.kind = Kind::kOperator, .sequential = sequential, .part_attrs = way.attrs});
  return egraph_->add_to(id, part, children).status();
}

Status PlacedEGraph::add_rings(const Key& key, ClassId id, NodeId node, const Implementation& way) {
  for (const FoundRing& found : find_rings(tensors_, mesh_, ways_, node, way, key.second)) {
    std::vector<HeldValue> held;
    for (const auto& [value, placement] : found.inputs)
      held.push_back({tensors_.type(value), placement});
    auto program = ring_program(found.ring, held, mesh_);
    if (!program.ok()) continue;
    std::vector<ClassId> children;
    for (const auto& [value, placement] : found.inputs) {
      EGRET_ASSIGN_OR_RETURN(const ClassId child, want(value, placement));
      if (child.valid()) children.push_back(child);
    }
    if (children.size() != held.size()) continue;
    const Meaning meaning{.kind = Kind::kRing,
                          .ring = std::make_shared<Ring>(found.ring),
                          .program = std::make_shared<RingProgram>(*std::move(program))};
    // Rings are equal operators only if their inputs' types and placements agree.
    std::string text = to_string(found.ring, mesh_);
    for (const HeldValue& one : held)
      text += " " + ir::to_string(one.whole) + to_string(one.placement, mesh_);
    const OpId op = operation("ring", children.size(), text, meaning);
    EGRET_RETURN_IF_ERROR(egraph_->add_to(id, op, children).status());
    ++rings_;
  }
  return base::ok();
}

}  // namespace egret::parallel
