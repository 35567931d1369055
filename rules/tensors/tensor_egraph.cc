// SPDX-License-Identifier: Apache-2.0
#include "rules/tensors/tensor_egraph.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "ir/ops/opaque.h"

namespace egret::rules {

using base::Result;
using base::Status;
using egraph::ClassId;
using egraph::NodeId;
using egraph::OpId;

Result<std::unique_ptr<TensorEGraph>> TensorEGraph::from_graph(const ir::Graph& graph,
                                                               OpenSizes* open) {
  for (const ir::NodeId id : graph.inputs()) {
    const ir::Node& input = graph.node(id);
    if (open == nullptr && !input.type.is_concrete()) {
      return base::usage_error("input '" + input.name + "' has the type " + to_string(input.type) +
                               "; bind its sizes with --bind NAME=SIZE");
    }
  }
  if (open != nullptr) open->scope().take_undecided();  // of whoever asked before
  std::unique_ptr<TensorEGraph> result(new TensorEGraph(open));
  EGRET_RETURN_IF_ERROR(result->add_program(graph));
  EGRET_RETURN_IF_ERROR(result->egraph_->rebuild());
  result->analysis_.end_program();
  result->credit_new_nodes(kProgram);
  result->program_ids_ = result->egraph_->id_count();
  return result;
}

Status TensorEGraph::add_program(const ir::Graph& graph) {
  name_ = graph.name;
  metadata_ = graph.metadata;
  bodies_ = graph.bodies;
  std::vector<ClassId>& class_of = program_classes_;
  class_of.resize(graph.size());
  for (const ir::NodeId id : ir::live_nodes(graph)) {
    const ir::Node& node = graph.node(id);
    std::vector<ClassId> children;
    for (const ir::NodeId input : node.inputs) children.push_back(class_of[input.index()]);
    if (node.kind == ir::NodeKind::kInput) inputs_.push_back(language_.input(node.name, node.type));
    auto added = egraph_->add(language_.node(node), children);
    if (!added.ok()) return added.status().at("value '" + node.name + "'");
    class_of[id.index()] = *added;
    if (node.op == &ir::opaque_output()) {
      const ir::Node& whole = graph.node(node.inputs[0]);
      children.clear();
      for (const ir::NodeId input : whole.inputs) children.push_back(class_of[input.index()]);
      const ir::Graph* const body = ir::body_of(graph, whole);
      if (body != nullptr && !graph.bodies.at(whole.attrs.text("node")).sealed)
        EGRET_RETURN_IF_ERROR(add_body(*body, node.attrs.integer("output"), children, *added));
    }
    if (node.kind == ir::NodeKind::kOperator && !node.name.empty())
      values_.push_back({*added, node.name});
  }
  for (const auto& output : graph.outputs())
    outputs_.push_back({class_of[output.node.index()], output.name});
  return base::ok();
}

// The operators of an opaque node; one of its outputs equals `whole`.
Status TensorEGraph::add_body(const ir::Graph& body, std::int64_t output,
                              std::span<const ClassId> operands, ClassId whole) {
  std::vector<ClassId> class_of(body.size());
  for (std::size_t i = 0; i < operands.size(); ++i)
    class_of[body.inputs()[i].index()] = operands[i];
  for (const ir::NodeId id : ir::live_nodes(body)) {
    const ir::Node& node = body.node(id);
    if (node.kind == ir::NodeKind::kInput) continue;
    std::vector<ClassId> children;
    for (const ir::NodeId input : node.inputs) children.push_back(class_of[input.index()]);
    EGRET_ASSIGN_OR_RETURN(class_of[id.index()], egraph_->add(language_.node(node), children));
  }
  const auto named = [&](const ir::Graph::Output& one) {
    return one.name == std::to_string(output);
  };
  const auto found = std::ranges::find_if(body.outputs(), named);
  EGRET_CHECK(found != body.outputs().end(), "the body of an opaque node has its outputs");
  return egraph_->merge(whole, class_of[found->node.index()], "body").status();
}

const ir::Graph* TensorEGraph::body(OpId op) const {
  if (language_.kind(op) != ir::NodeKind::kOperator || &language_.op(op) != &ir::opaque_operator())
    return nullptr;
  const auto found = bodies_.find(language_.attrs(op).text("node"));
  return found != bodies_.end() ? found->second.graph.get() : nullptr;
}

Result<ClassId> TensorEGraph::add(const ir::Operator& op, const ir::Attrs& attrs,
                                  std::span<const ClassId> children) {
  EGRET_ASSIGN_OR_RETURN(const OpId id, language_.checked_operation(op, attrs, children.size()));
  return egraph_->add(id, children);
}

Result<ClassId> TensorEGraph::add_constant(const ir::Tensor& data, std::string_view name) {
  return egraph_->add(language_.constant(data, name));
}

std::vector<ClassId> TensorEGraph::roots() const {
  std::vector<ClassId> ids;
  for (const Named& output : outputs_) ids.push_back(egraph_->find(output.id));
  return ids;
}

// Nodes are appended, so the nodes that a rule made are a range of ids. One entry for each range
// suffices, and creator() finds it by binary search.
void TensorEGraph::credit_new_nodes(std::uint32_t rule) {
  const std::size_t end = egraph_->savepoint().words;
  if (end > credited_) credits_.push_back({static_cast<std::uint32_t>(credited_), rule});
  credited_ = std::max(credited_, end);
  for (; eliminations_credited_ < eliminations_.size(); ++eliminations_credited_)
    eliminations_[eliminations_credited_].rule = rule;
}

void TensorEGraph::note_elimination(ClassId eliminated, ClassId kept) {
  if (eliminated.index() >= program_ids_ || egraph_->same(eliminated, kept)) return;
  eliminations_.push_back({eliminated, kProgram});
}

std::uint32_t TensorEGraph::creator(NodeId node) const {
  if (node.index() >= credited_) return kProgram;
  const auto after = std::ranges::upper_bound(credits_, node.index(), {}, &Credit::begin);
  return std::prev(after)->rule;
}

std::map<ClassId, std::string> TensorEGraph::value_names() const {
  std::map<ClassId, std::string> names;
  for (const Named& value : values_) names.emplace(egraph_->find(value.id), value.name);
  return names;
}

// The node without its inputs and name.
Result<ir::Node> TensorEGraph::to_node(NodeId node) const {
  const OpId op = egraph_->op(node);
  ir::Node result;
  result.kind = language_.kind(op);
  result.type = type(egraph_->class_of(node));
  switch (result.kind) {
    case ir::NodeKind::kInput: break;
    case ir::NodeKind::kConstant:
      result.data = language_.tensor(op);
      result.name = language_.leaf_name(op);
      break;
    case ir::NodeKind::kOperator:
      result.op = &language_.op(op);
      result.attrs = language_.attrs(op);
      break;
  }
  return result;
}

Result<ir::Graph> TensorEGraph::to_graph(std::span<const Term> terms,
                                         std::span<const std::uint32_t> outputs,
                                         std::vector<ir::NodeId>* places) const {
  EGRET_CHECK(outputs.size() == outputs_.size(), "a term for each output");
  ir::Graph graph;
  graph.name = name_;
  graph.metadata = metadata_;
  graph.bodies = bodies_;
  std::map<ClassId, ir::NodeId> inputs;
  for (const OpId op : inputs_) {
    ir::Node node{.kind = ir::NodeKind::kInput,
                  .type = language_.input_type(op),
                  .name = language_.leaf_name(op)};
    inputs[egraph_->find(egraph_->lookup(op))] = graph.append(std::move(node));
  }
  std::map<ClassId, std::string> names = value_names();
  std::vector<ir::NodeId> built;
  for (const Term& term : terms) {
    const ClassId of = egraph_->class_of(term.node);
    // A class with an input is that input, whatever its other nodes are.
    if (const auto input = inputs.find(of); input != inputs.end()) {
      built.push_back(input->second);
      continue;
    }
    EGRET_ASSIGN_OR_RETURN(ir::Node node, to_node(term.node));
    if (node.kind == ir::NodeKind::kInput)
      return base::internal_error("an input outside of the program");
    for (const std::uint32_t operand : term.operands) node.inputs.push_back(built.at(operand));
    // The first term of a class has the name of the program's value.
    if (node.kind == ir::NodeKind::kOperator) {
      if (auto name = names.extract(of)) node.name = std::move(name.mapped());
    }
    built.push_back(graph.append(std::move(node)));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i)
    graph.add_output(outputs_[i].name, built.at(outputs[i]));
  if (places != nullptr) *places = std::move(built);
  return graph;
}

Result<ir::Graph> TensorEGraph::to_graph(const Selection& selection,
                                         std::span<const ClassId> outputs,
                                         std::vector<NodeId>* origins) const {
  std::vector<Term> terms;
  std::vector<bool> is_input(egraph_->id_count(), false);
  for (const OpId op : inputs_) is_input[egraph_->find(egraph_->lookup(op)).index()] = true;

  // Depth-first with an explicit stack: a class is built when it is reached again after its
  // children. Meeting an open class means a cycle.
  enum class Mark : std::uint8_t { kNew, kOpen, kDone };
  std::vector<Mark> marks(egraph_->id_count(), Mark::kNew);
  std::vector<std::uint32_t> term_of(egraph_->id_count());
  std::vector<ClassId> stack(outputs.rbegin(), outputs.rend());
  while (!stack.empty()) {
    const ClassId id = stack.back();
    if (marks[id.index()] == Mark::kDone) {
      stack.pop_back();
      continue;
    }
    const NodeId chosen =
        id.index() < selection.node_of.size() ? selection.node_of[id.index()] : NodeId();
    if (!is_input[id.index()] && (!chosen.valid() || egraph_->class_of(chosen) != id)) {
      return base::internal_error("the selection has no node for class " +
                                  std::to_string(id.index()));
    }
    const auto children =
        is_input[id.index()] ? std::span<const ClassId>() : egraph_->children(chosen);
    if (marks[id.index()] == Mark::kNew) {
      marks[id.index()] = Mark::kOpen;
      for (auto child = children.rbegin(); child != children.rend(); ++child) {
        if (marks[child->index()] == Mark::kDone) continue;
        if (marks[child->index()] == Mark::kOpen) {
          return base::internal_error("the selection is cyclic at class " +
                                      std::to_string(child->index()));
        }
        stack.push_back(*child);
      }
      continue;
    }
    stack.pop_back();
    Term term{is_input[id.index()] ? egraph_->nodes(id).front() : chosen, {}};
    for (const ClassId child : children) term.operands.push_back(term_of[child.index()]);
    term_of[id.index()] = static_cast<std::uint32_t>(terms.size());
    terms.push_back(std::move(term));
    marks[id.index()] = Mark::kDone;
  }
  std::vector<std::uint32_t> output_terms;
  for (const ClassId id : outputs) output_terms.push_back(term_of[id.index()]);
  std::vector<ir::NodeId> places;
  EGRET_ASSIGN_OR_RETURN(ir::Graph graph, to_graph(terms, output_terms, &places));
  if (origins != nullptr) {
    origins->assign(graph.size(), NodeId());
    for (std::size_t i = 0; i < terms.size(); ++i) {
      if (graph.node(places[i]).kind != ir::NodeKind::kInput)
        (*origins)[places[i].index()] = terms[i].node;
    }
  }
  return graph;
}

// Nodes become ready when each of their operands has one, and of those that are ready the oldest
// comes first. Where all nodes of the program are visible, that is the oldest node of each class:
// its operands are older. Where some are hidden, the oldest visible node may need its own class.
Selection TensorEGraph::original() const {
  Selection selection;
  selection.node_of.resize(egraph_->id_count());
  std::vector<std::vector<std::pair<NodeId, ClassId>>> readers(egraph_->id_count());
  std::map<NodeId, std::size_t> missing;  // operands without a node
  std::set<std::pair<NodeId, ClassId>> ready;
  for (const ClassId id : egraph_->classes()) {
    for (const NodeId node : egraph_->nodes(id)) {
      std::set<ClassId> operands;
      for (const ClassId child : egraph_->children(node)) operands.insert(egraph_->find(child));
      for (const ClassId operand : operands) readers[operand.index()].emplace_back(node, id);
      missing[node] = operands.size();
      if (operands.empty()) ready.emplace(node, id);
    }
  }
  while (!ready.empty()) {
    const auto [node, id] = *ready.begin();
    ready.erase(ready.begin());
    if (selection.node_of[id.index()].valid()) continue;
    selection.node_of[id.index()] = node;
    for (const auto& reader : readers[id.index()]) {
      if (--missing[reader.first] == 0) ready.insert(reader);
    }
  }
  return selection;
}

Selection TensorEGraph::from_view(const egraph::EGraphView& view,
                                  std::span<const std::uint32_t> chosen) const {
  EGRET_CHECK(egraph_->clean() && chosen.size() == view.class_count(), "another e-graph's view");
  Selection selection;
  selection.node_of.resize(egraph_->id_count());
  for (std::size_t c = 0; c < view.class_count(); ++c) {
    if (chosen[c] >= view.node_count()) continue;
    const std::size_t place = chosen[c] - view.class_begin[c];
    const auto nodes = egraph_->nodes(view.class_id[c]);
    EGRET_CHECK(place < nodes.size(), "a node of another class");
    selection.node_of[view.class_id[c].index()] = nodes[place];
  }
  return selection;
}

}  // namespace egret::rules
