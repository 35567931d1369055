// SPDX-License-Identifier: Apache-2.0
#include "frontends/nodes/onnx_writer.h"

#include <algorithm>

#include "frontends/nodes/node_parts.h"
#include "frontends/nodes/opaque_identity.h"
#include "frontends/nodes/split_groups.h"
#include "frontends/nodes/written_sizes.h"
#include "frontends/onnx.pb.h"
#include "frontends/program/captured_names.h"
#include "frontends/wire/onnx_tensor.h"
#include "ir/core/symbolic_scope.h"
#include "ir/graph/body.h"
#include "ir/graph/operator.h"
#include "ir/ops/opaque.h"

namespace egret::frontends {
namespace {

constexpr int kFirstOpset = 7;  // older opsets broadcast differently; exports do not know them
constexpr int kSplitSizesAreAnInput = 13;
constexpr int kSplitNeedsPartCount = 18;  // where it has no sizes
constexpr int kBFloat16Opset = 13;        // the first whose operators take bfloat16

void set_value(onnx::AttributeProto& proto, std::int64_t value) {
  proto.set_type(2);
  proto.set_i(value);
}
void set_value(onnx::AttributeProto& proto, double value) {
  proto.set_type(1);
  proto.set_f(static_cast<float>(value));
}
void set_value(onnx::AttributeProto& proto, const std::string& value) {
  proto.set_type(3);
  proto.set_s(value);
}
void set_value(onnx::AttributeProto& proto, const ir::Integers& values) {
  proto.set_type(7);
  for (const std::int64_t value : values) proto.add_ints(value);
}
void set_value(onnx::AttributeProto& proto, const std::vector<double>& values) {
  proto.set_type(6);
  for (const double value : values) proto.add_floats(static_cast<float>(value));
}
void set_value(onnx::AttributeProto& proto, const ir::Tensor& tensor) {
  proto.set_type(4);
  fill_tensor_proto(*proto.mutable_t(), tensor, "");
}

bool holds_open_size(const ir::OnnxWriter::Attribute& attribute) {
  if (const auto* integer = std::get_if<std::int64_t>(&attribute.value))
    return ir::is_symbolic(*integer);
  const auto* integers = std::get_if<ir::Integers>(&attribute.value);
  return integers != nullptr && std::ranges::any_of(*integers, ir::is_symbolic);
}

// The order of writing: what is made of constants and sizes alone comes where it is read, or last.
// By then, more values are written that its sizes can be read off.
std::vector<ir::NodeId> sources_late(const ir::Graph& graph, const std::vector<ir::NodeId>& live) {
  std::vector<bool> late(graph.size(), false);
  for (const ir::NodeId id : live) {
    const ir::Node& node = graph.node(id);
    late[id.index()] = node.kind == ir::NodeKind::kOperator && !node.op->is_opaque() &&
                       std::ranges::all_of(node.inputs, [&](ir::NodeId input) {
                         return graph.node(input).kind == ir::NodeKind::kConstant;
                       });
  }
  std::vector<ir::NodeId> order;
  const auto write = [&](ir::NodeId id) {
    if (late[id.index()]) order.push_back(id);
    late[id.index()] = false;
  };
  for (const ir::NodeId id : live) {
    if (late[id.index()]) continue;
    std::ranges::for_each(graph.node(id).inputs, write);
    order.push_back(id);
  }
  std::ranges::for_each(live, write);
  return order;
}

}  // namespace

// What one operator's export sees.
class OnnxGraphWriter::Writer final : public ir::OnnxWriter {
 public:
  Writer(OnnxGraphWriter& graph, const Operation& operation)
      : graph_(graph), operation_(operation), first_(graph.graph_.node_size()) {}

  int opset() const override { return graph_.opset_; }
  void needs_opset(int version) override { needed_ = std::max(needed_, version); }
  const ir::Attrs& attrs() const override { return operation_.attrs; }
  int input_count() const override { return static_cast<int>(operation_.inputs.size()); }
  std::string input(int i) const override { return operation_.inputs[static_cast<std::size_t>(i)]; }
  const ir::TensorType& input_type(int i) const override {
    return operation_.input_types[static_cast<std::size_t>(i)];
  }
  const ir::TensorType& output_type() const override { return operation_.type; }

  std::string emit(std::string_view op_type, std::vector<std::string> inputs,
                   std::vector<Attribute> attributes, std::string_view domain, int outputs,
                   int which_output) override {
    onnx::NodeProto& node = *graph_.graph_.add_node();
    node.set_op_type(std::string(op_type));
    if (!domain.empty()) {
      node.set_domain(std::string(domain));
      graph_.domains_.emplace(domain);
    }
    while (!inputs.empty() && inputs.back().empty()) inputs.pop_back();
    for (std::string& name : inputs) node.add_input(std::move(name));
    for (int i = 0; i < outputs; ++i) node.add_output(graph_.fresh_name(operation_.op.name()));
    for (const Attribute& attribute : attributes) {
      if (holds_open_size(attribute) && status_.ok()) {
        status_ = base::unsupported("attribute " + attribute.name + " of " + std::string(op_type) +
                                    " would hold an open size");
      }
      onnx::AttributeProto& proto = *node.add_attribute();
      proto.set_name(attribute.name);
      std::visit([&](const auto& value) { set_value(proto, value); }, attribute.value);
    }
    which_output_ = which_output;
    node.set_name(node.output(which_output));
    return node.output(which_output);
  }

  std::string constant(const ir::Tensor& tensor) override { return graph_.shared_constant(tensor); }
  std::string constant_integers(const ir::Integers& values) override {
    std::vector<ir::Index> sizes;
    for (const std::int64_t value : values) sizes.push_back(ir::index_of_integer(value));
    if (std::ranges::all_of(sizes, &ir::Index::is_constant))
      return OnnxWriter::constant_integers(values);
    auto name = graph_.sizes_->tensor_of(sizes);
    if (name.ok()) return *std::move(name);
    if (status_.ok()) status_ = name.status();
    return {};
  }
  // Errors of constant_integers() and emit().
  const base::Status& status() const { return status_; }

  int needed() const { return needed_; }
  bool has_emitted() const { return graph_.graph_.node_size() > first_; }
  // The last node's output takes the operator's name.
  void finish() {
    onnx::NodeProto& last = *graph_.graph_.mutable_node(graph_.graph_.node_size() - 1);
    last.set_output(which_output_, operation_.output);
    last.set_name(operation_.output);
  }
  void undo() { graph_.remove_nodes(first_); }

 private:
  OnnxGraphWriter& graph_;
  const Operation& operation_;
  int first_;
  int which_output_ = 0;
  int needed_ = 0;
  base::Status status_;
};

OnnxGraphWriter::OnnxGraphWriter(onnx::GraphProto& graph, int opset, int opset_for_composites,
                                 const OpaqueNodes* opaque)
    : graph_(graph),
      opset_(opset),
      opset_for_composites_(opset_for_composites),
      opaque_(opaque),
      sizes_(std::make_unique<Sizes>(*this)) {}

OnnxGraphWriter::~OnnxGraphWriter() = default;

base::Status OnnxGraphWriter::write(const ir::Graph& graph) {
  for (const ir::NodeId id : graph.inputs()) sizes_->note(graph.node(id).name, graph.node(id).type);
  need_opset(kFirstOpset, "opset 7, the first whose operators broadcast as Egret's do");
  choose_names(graph);
  EGRET_RETURN_IF_ERROR(write_nodes(graph, names_));
  for (const auto& output : graph.outputs()) {
    const std::string& made = names_[output.node.index()];
    if (made == output.name) continue;
    onnx::NodeProto& node = *graph_.add_node();
    node.set_op_type("Identity");
    node.add_input(made);
    node.add_output(output.name);
    node.set_name(output.name);
  }
  return base::ok();
}

// The names of inputs and outputs are the model's interface and are reserved first. Then nodes get
// their own names where these are free, and only then are fresh names made. A fresh name can
// therefore never take a name that a later node wants.
void OnnxGraphWriter::choose_names(const ir::Graph& graph) {
  names_.assign(graph.size(), "");
  if (opaque_ != nullptr) reserve_inner_names();
  for (const ir::NodeId input : graph.inputs()) {
    names_[input.index()] = graph.node(input).name;
    reserve(graph.node(input).name);
  }
  if (opaque_ != nullptr) keep_foreign_names(graph);
  // A node is called like the first output that it makes; further outputs become copies.
  for (const auto& output : graph.outputs()) {
    if (!reserve(output.name)) continue;
    std::string& name = names_[output.node.index()];
    if (name.empty() && graph.node(output.node).kind == ir::NodeKind::kOperator) name = output.name;
  }
  const std::vector<ir::NodeId> live = live_nodes(graph);
  for (const ir::NodeId id : live) {
    const std::string& wanted = graph.node(id).name;
    if (names_[id.index()].empty() && !wanted.empty() && reserve(wanted))
      names_[id.index()] = wanted;
  }
  for (const ir::NodeId id : live) {
    const ir::Node& node = graph.node(id);
    if (names_[id.index()].empty())
      names_[id.index()] = fresh_name(node.op != nullptr ? node.op->name() : "constant");
  }
}

// Inputs and initializers of types that Egret lacks are opaque nodes here; no node of the model may
// give them another name.
void OnnxGraphWriter::keep_foreign_names(const ir::Graph& graph) {
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const ir::Node& node = graph.node(ir::NodeId(i));
    if (node.op != &ir::opaque_output()) continue;
    const auto found = opaque_->find(graph.node(node.inputs[0]).attrs.text("node"));
    if (found == opaque_->end() || found->second.value.empty()) continue;
    names_[i] = found->second.value;
    reserve(names_[i]);
  }
}

// A value must not have a name that a body within the graph defines.
void OnnxGraphWriter::reserve_inner_names() {
  std::set<std::string> inner;
  for (const auto& [key, opaque] : *opaque_) {
    onnx::NodeProto proto;
    if (proto.ParseFromString(opaque.proto)) collect_inner_names(proto, inner);
  }
  for (const std::string& name : inner) reserve(name);
}

std::string OnnxGraphWriter::fresh_name(std::string_view stem) {
  int& counter = counters_.try_emplace(std::string(stem), 0).first->second;
  while (true) {
    std::string name = std::string(stem) + "_" + std::to_string(counter++);
    if (reserve(name)) return name;
  }
}

base::Status OnnxGraphWriter::write_nodes(const ir::Graph& graph,
                                          const std::vector<std::string>& names) {
  const std::vector<ir::NodeId> live = sources_late(graph, live_nodes(graph));
  const std::vector<SplitGroup> splits = find_splits(graph, live, opset_ >= kSplitSizesAreAnInput);
  std::map<ir::NodeId, const SplitGroup*> split_of;
  for (const SplitGroup& split : splits) {
    for (const ir::NodeId piece : split.pieces) split_of[piece] = &split;
  }
  // The pieces of a split are separate nodes in the graph, but one ONNX node makes them all. It is
  // written at the first piece, because all pieces read the same input.
  std::set<const SplitGroup*> written;
  std::map<ir::NodeId, std::vector<ir::NodeId>> opaque;  // the outputs of each node
  for (const ir::NodeId id : live) {
    const ir::Node& node = graph.node(id);
    if (node.op == &ir::opaque_output()) opaque[node.inputs[0]].push_back(id);
  }
  const auto write_one = [&](ir::NodeId id) -> base::Status {
    const ir::Node& node = graph.node(id);
    const std::string& name = names[id.index()];
    if (node.type.dtype == ir::DType::kBF16) need_opset(kBFloat16Opset, "bfloat16");
    if (node.kind == ir::NodeKind::kConstant) initializers_.emplace_back(name, node.data);
    if (node.kind != ir::NodeKind::kOperator) return base::ok();
    if (const auto split = split_of.find(id); split != split_of.end()) {
      if (!written.insert(split->second).second) return base::ok();
      EGRET_RETURN_IF_ERROR(write_split(*split->second, names));
      for (const ir::NodeId piece : split->second->pieces)
        sizes_->note(names[piece.index()], graph.node(piece).type);
      return base::ok();
    }
    if (node.op->is_opaque()) {
      if (const auto outputs = opaque.find(id); outputs != opaque.end()) {
        EGRET_RETURN_IF_ERROR(write_opaque(graph, id, outputs->second, names));
        for (const ir::NodeId output : outputs->second)
          sizes_->note(names[output.index()], graph.node(output).type);
      }
      return base::ok();
    }
    Operation operation{*node.op, node.attrs, {}, {}, node.type, name};
    for (const ir::NodeId input : node.inputs) {
      operation.inputs.push_back(names[input.index()]);
      operation.input_types.push_back(graph.node(input).type);
    }
    return write_operation(operation);
  };
  const bool is_body = &names != &names_;
  for (const ir::NodeId id : live) {
    const int first = graph_.node_size();
    EGRET_RETURN_IF_ERROR(write_one(id));
    if (!is_body) note_makers(id, first);
  }
  return base::ok();
}

void OnnxGraphWriter::note_makers(ir::NodeId id, int first) {
  for (int i = first; i < graph_.node_size(); ++i) {
    for (const std::string& value : graph_.node(i).output()) makers_.emplace(value, id);
  }
}

base::Status OnnxGraphWriter::write_opaque(const ir::Graph& graph, ir::NodeId id,
                                           std::span<const ir::NodeId> outputs,
                                           const std::vector<std::string>& names) {
  const ir::Node& node = graph.node(id);
  const std::string& key = node.attrs.text("node");
  std::vector<std::string> operands;
  for (const ir::NodeId input : node.inputs) operands.push_back(names[input.index()]);
  std::map<std::int64_t, std::string> made;
  for (const ir::NodeId output : outputs) {
    made.emplace(graph.node(output).attrs.integer("output"), names[output.index()]);
  }
  if (opaque_ == nullptr) {
    onnx::NodeProto& proto = *graph_.add_node();
    proto.set_op_type(node.attrs.text("type"));
    for (const auto& [output, name] : made) proto.add_output(name);
    return base::ok();
  }
  const auto found = opaque_->find(key);
  onnx::NodeProto proto;
  if (found == opaque_->end() || !proto.ParsePartialFromString(found->second.proto))
    return base::internal_error("the model does not have the opaque " + key);
  const OpaqueNode& opaque = found->second;
  if (!opaque.value.empty()) return write_foreign(opaque);
  if (opaque.opset == 0 || reads_alike(proto, opaque.opset, opset_))
    return write_opaque(proto, opaque, operands, made);
  const ir::Graph* const body = ir::body_of(graph, node);
  if (body == nullptr) {
    return base::unsupported("operator " + proto.op_type() + " of opset " +
                             std::to_string(opaque.opset) + " cannot be written in opset " +
                             std::to_string(opset_));
  }
  std::map<std::string, std::string> by_name;
  for (const auto& [output, name] : made) by_name.emplace(std::to_string(output), name);
  return write_inline(*body, operands, by_name, proto.op_type());
}

// An input is part of the interface. An initializer is written as it was.
base::Status OnnxGraphWriter::write_foreign(const OpaqueNode& value) {
  if (value.tensor.empty()) return base::ok();
  if (!graph_.add_initializer()->ParseFromString(value.tensor))
    return base::internal_error("the initializer '" + value.value + "' is no tensor");
  return base::ok();
}

// The node as it was, with the names that its operands and outputs have now.
base::Status OnnxGraphWriter::write_opaque(onnx::NodeProto& proto, const OpaqueNode& opaque,
                                           std::span<const std::string> operands,
                                           const std::map<std::int64_t, std::string>& outputs) {
  std::size_t operand = 0;
  const std::vector<std::string> captured = captured_names(proto);  // before names change
  for (int i = 0; i < proto.input_size(); ++i) {
    std::string& input = *proto.mutable_input(i);
    const auto fixed = opaque.fixed.find(i);
    if (fixed == opaque.fixed.end()) {
      if (!input.empty()) input = operands[operand++];
    } else if (const auto* tensor = std::get_if<ir::Tensor>(&fixed->second)) {
      input = shared_constant(*tensor);
    } else if (const auto* sizes = std::get_if<std::vector<ir::Index>>(&fixed->second)) {
      EGRET_ASSIGN_OR_RETURN(input, sizes_->tensor_of(*sizes));
    }
  }
  std::map<std::string, std::string> renamed;
  for (const std::string& name : captured) renamed[name] = operands[operand++];
  rename_captured(proto, renamed);
  for (int i = 0; i < proto.output_size(); ++i) {
    std::string& name = *proto.mutable_output(i);
    const auto used = outputs.find(i);
    if (used != outputs.end()) {
      name = used->second;
    } else if (!name.empty()) {
      name = fresh_name("unused");
    }
  }
  domains_.merge(foreign_domains(proto));
  *graph_.add_node() = std::move(proto);
  return base::ok();
}

// All pieces at the place of the first: a piece needs nothing but the whole.
base::Status OnnxGraphWriter::write_split(const SplitGroup& split,
                                          const std::vector<std::string>& names) {
  std::string sizes;
  if (!split.are_numbers() && !split.are_equal()) {
    EGRET_ASSIGN_OR_RETURN(sizes, sizes_->tensor_of(split.sizes));
  }
  onnx::NodeProto& node = *graph_.add_node();
  node.set_op_type("Split");
  node.add_input(names[split.whole.index()]);
  for (const ir::NodeId piece : split.pieces) node.add_output(names[piece.index()]);
  node.set_name(node.output(0));
  const auto attribute = [&](const char* name, const auto& value) {
    onnx::AttributeProto& proto = *node.add_attribute();
    proto.set_name(name);
    set_value(proto, value);
  };
  attribute("axis", split.axis);
  if (!sizes.empty()) {
    node.add_input(sizes);
  } else if (!split.are_numbers()) {  // equal parts
    if (opset_ >= kSplitNeedsPartCount)
      attribute("num_outputs", static_cast<std::int64_t>(split.pieces.size()));
  } else {
    ir::Integers numbers;
    for (const ir::Index& size : split.sizes) numbers.push_back(size.constant());
    if (opset_ >= kSplitSizesAreAnInput) {
      node.add_input(shared_constant(ir::Tensor::of_integers(numbers)));
    } else {
      attribute("split", numbers);
    }
  }
  return base::ok();
}

base::Status OnnxGraphWriter::write_operation(const Operation& operation) {
  const ir::Operator& op = operation.op;
  const bool too_old = opset_ < op.onnx_since();
  const bool stays_whole = !too_old || op.onnx_since() <= opset_for_composites_;
  if (op.is_composite() && (!op.onnx_export() || !stays_whole)) return write_body(operation);
  if (!op.onnx_export())
    return base::unsupported("operator " + op.name() + " cannot be written as ONNX operators");
  if (too_old) {
    need_opset(op.onnx_since(), op.name());
    return base::ok();  // this writing is void; a later one is complete
  }
  Writer writer(*this, operation);
  ir::SymbolicScope* const scope = ir::SymbolicScope::current();
  if (scope != nullptr) scope->take_undecided();
  base::Status status = op.onnx_export()(writer);
  if (status.ok()) status = writer.status();
  // An attribute of ONNX's operator would hold an open size.
  if (status.ok() && scope != nullptr && scope->take_undecided())
    status = base::unsupported("an attribute depends on an open size");
  const bool needs_newer = writer.needed() > opset_;
  if (op.is_composite() && (needs_newer || status.code() == base::StatusCode::kUnsupported)) {
    writer.undo();
    return write_body(operation);
  }
  if (needs_newer) {
    need_opset(writer.needed(), op.name());
    return base::ok();
  }
  if (!status.ok()) return status.at("operator " + op.name() + " '" + operation.output + "'");
  EGRET_CHECK(writer.has_emitted(), "an export must emit a node");
  writer.finish();
  sizes_->note(operation.output, operation.type);
  return base::ok();
}

// A composite without a form in this opset is written as its body. Bodies nest as deep as operators
// are defined by each other, which no model can influence.
base::Status OnnxGraphWriter::write_body(const Operation& operation) {
  EGRET_ASSIGN_OR_RETURN(const ir::Graph body,
                         body_graph(operation.op, operation.attrs, operation.input_types));
  return write_inline(body, operation.inputs, {{body.outputs().front().name, operation.output}},
                      operation.op.name());
}

base::Status OnnxGraphWriter::write_inline(const ir::Graph& body,
                                           std::span<const std::string> inputs,
                                           const std::map<std::string, std::string>& outputs,
                                           std::string_view stem) {
  std::vector<std::string> names(body.size());
  std::vector<bool> needed(body.size(), false);
  for (std::size_t i = 0; i < inputs.size(); ++i) names[body.inputs()[i].index()] = inputs[i];
  std::vector<std::pair<ir::NodeId, std::string>> copies;
  for (const ir::Graph::Output& output : body.outputs()) {
    const auto wanted = outputs.find(output.name);
    if (wanted == outputs.end()) continue;
    needed[output.node.index()] = true;
    std::string& name = names[output.node.index()];
    if (name.empty() && body.node(output.node).kind == ir::NodeKind::kOperator) {
      name = wanted->second;
    } else {
      copies.emplace_back(output.node, wanted->second);
    }
  }
  for (std::size_t i = body.size(); i-- > 0;) {
    for (const ir::NodeId input : body.node(ir::NodeId(i)).inputs)
      needed[input.index()] = needed[input.index()] || needed[i];
  }
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (!needed[i]) continue;
    const ir::Node& node = body.node(ir::NodeId(i));
    std::string& name = names[i];
    if (node.kind == ir::NodeKind::kConstant) {
      name = shared_constant(node.data);
    } else if (name.empty()) {
      name = fresh_name(stem);
    }
    if (node.kind != ir::NodeKind::kOperator) continue;
    Operation part{*node.op, node.attrs, {}, {}, node.type, name};
    for (const ir::NodeId input : node.inputs) {
      part.inputs.push_back(names[input.index()]);
      part.input_types.push_back(body.node(input).type);
    }
    EGRET_RETURN_IF_ERROR(write_operation(part));
  }
  for (const auto& [id, wanted] : copies) {
    onnx::NodeProto& node = *graph_.add_node();
    node.set_op_type("Identity");
    node.add_input(names[id.index()]);
    node.add_output(wanted);
    node.set_name(wanted);
  }
  return base::ok();
}

// Shapes, axes and scalars of equal contents are stored once.
std::string OnnxGraphWriter::shared_constant(const ir::Tensor& tensor) {
  const auto [entry, is_new] = constants_.try_emplace(tensor.content_hash());
  if (is_new) {
    entry->second = fresh_name("const");
    initializers_.emplace_back(entry->second, tensor);
  }
  return entry->second;
}

void OnnxGraphWriter::remove_nodes(int first) {
  std::set<std::string_view> removed;
  for (int i = first; i < graph_.node_size(); ++i)
    removed.insert(graph_.node(i).output().begin(), graph_.node(i).output().end());
  sizes_->forget(removed);
  graph_.mutable_node()->DeleteSubrange(first, graph_.node_size() - first);
}

void OnnxGraphWriter::need_opset(int version, const std::string& op) {
  if (version <= std::max(opset_, needed_opset_)) return;
  needed_opset_ = version;
  needed_by_ = op;
}

}  // namespace egret::frontends
