// SPDX-License-Identifier: Apache-2.0
#include "frontends/nodes/opaque_import.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "frontends/nodes/onnx_writer.h"
#include "frontends/nodes/opaque_identity.h"
#include "frontends/onnx.pb.h"
#include "frontends/wire/onnx_attributes.h"
#include "ir/core/symbolic_scope.h"
#include "ir/graph/graph_text.h"
#include "ir/graph/open_sizes.h"
#include "ir/ops/opaque.h"

namespace egret::frontends {
namespace {

constexpr std::int64_t kLargestSize = std::int64_t{1} << 40;

}  // namespace

bool is_unnamed(const onnx::TensorShapeProto::Dimension& dim) {
  return dim.dim_param().empty() || dim.dim_param() == "?";
}

namespace {

// A type whose sizes without a number are symbols. nullopt for what is no tensor of a known element
// type and rank.
std::optional<ir::TensorType> type_of(const onnx::ValueInfoProto& value) {
  if (!value.type().has_tensor_type()) return std::nullopt;
  const auto& tensor = value.type().tensor_type();
  const auto dtype = ir::dtype_from_onnx(tensor.elem_type());
  if (!dtype || !tensor.has_shape()) return std::nullopt;
  ir::TensorType type(*dtype, ir::Dims{});
  for (int axis = 0; axis < tensor.shape().dim_size(); ++axis) {
    const auto& dim = tensor.shape().dim(axis);
    const bool known = dim.has_dim_value() && dim.dim_value() != -1;
    if (known && (dim.dim_value() < 0 || dim.dim_value() > kLargestSize)) return std::nullopt;
    // A size without a name differs from all others.
    const std::string name =
        is_unnamed(dim) ? value.name() + "_" + std::to_string(axis) : dim.dim_param();
    type.dims.push_back(known ? ir::Index(dim.dim_value()) : ir::symbolic_dim(name));
  }
  return type;
}

// Of ai.onnx, which may be raised at export; 0 for a node of another domain.
int opset_of(const OnnxProgram& program, const OnnxProgramNode& node) {
  const bool standard = canonical_domain(node.proto->domain()).empty();
  return standard ? static_cast<int>(program.opset(node)) : 0;
}

// It must be no other value than one that is declared to be f32[].
ir::Value add_untyped_output(ir::GraphBuilder& builder, ir::Value node, std::size_t output) {
  return builder.add(ir::opaque_output(), std::span(&node, 1),
                     ir::untyped_output_attrs(static_cast<std::int64_t>(output)));
}

ir::Value add_output(ir::GraphBuilder& builder, ir::Value node, std::size_t output, ir::DType dtype,
                     ir::Integers shape) {
  return builder.add(
      ir::opaque_output(), std::span(&node, 1),
      ir::opaque_output_attrs(static_cast<std::int64_t>(output), dtype, std::move(shape)));
}

}  // namespace

OpaqueImport::OpaqueImport(const onnx::GraphProto& graph,
                           const std::function<std::int64_t(std::string_view, int)>& example_of,
                           bool keeps_rounding)
    : example_of_(example_of), keeps_rounding_(keeps_rounding) {
  const auto declare = [&](const onnx::ValueInfoProto& value) {
    if (auto type = type_of(value)) declared_.insert_or_assign(value.name(), *std::move(type));
  };
  for (const auto& value : graph.value_info()) declare(value);
  for (const auto& value : graph.output()) declare(value);
}

std::optional<ir::TensorType> OpaqueImport::declared_type(const std::string& value) const {
  const auto found = declared_.find(value);
  return found != declared_.end() ? std::optional(found->second) : std::nullopt;
}

// A size that no input has is a symbol of its own.
void OpaqueImport::declare(std::string_view name, int axis) {
  const std::int64_t example = example_of_(name, axis);  // it may open the scope
  ir::SymbolicScope& scope = *ir::SymbolicScope::current();
  if (!scope.examples().contains(name)) scope.symbol(name, example);
}

// Sizes that a model declares by names of their own ("unk__12") say nothing; those that follow from
// the node's inputs do.
void OpaqueImport::sharpen(ir::TensorType& declared, const ResultType& following) {
  if (declared.dtype != following.dtype || declared.dims.size() != following.sizes.size()) return;
  for (std::size_t axis = 0; axis < declared.dims.size(); ++axis) {
    ir::Index& size = declared.dims[axis];
    if (!following.sizes[axis].known || size.is_constant()) continue;
    const bool is_name = size.node()->op == ir::ExprOp::kSymbol;
    const ir::SymbolicScope* const scope = ir::SymbolicScope::current();
    const bool is_known =
        scope != nullptr && is_name && scope->examples().contains(size.node()->name);
    if (!is_known) size = *following.sizes[axis].known;
  }
}

// Sizes that need no example.
bool OpaqueImport::are_numbers(const ResultType& type) {
  return std::ranges::all_of(
      type.sizes, [](const ResultSize& size) { return size.known && size.known->is_constant(); });
}

base::Result<ir::Integers> OpaqueImport::shape_of(const ir::TensorType& type) {
  ir::Integers shape;
  for (std::size_t axis = 0; axis < type.dims.size(); ++axis) {
    const ir::Index size = type.dims[axis];
    if (size.is_constant()) {
      shape.push_back(size.constant());
      continue;
    }
    if (!example_of_) return base::unsupported("a result of the open size " + to_string(size));
    if (size.node()->op == ir::ExprOp::kSymbol) declare(size.node()->name, static_cast<int>(axis));
    shape.push_back(ir::SymbolicScope::current()->integer_of(size));
  }
  return shape;
}

base::Result<ir::Integers> OpaqueImport::shape_of(const ResultType& type,
                                                  const std::string& value) {
  ir::Integers shape;
  for (std::size_t axis = 0; axis < type.sizes.size(); ++axis) {
    const ResultSize& size = type.sizes[axis];
    if (size.known) {
      EGRET_ASSIGN_OR_RETURN(const ir::Integers one,
                             shape_of(ir::TensorType(type.dtype, ir::Dims{*size.known})));
      shape.push_back(one.front());
      continue;
    }
    const std::string name = "unk__" + value + "_" + std::to_string(axis);
    declare(name, static_cast<int>(axis));
    ir::SymbolicScope& scope = *ir::SymbolicScope::current();
    if (size.example) scope.set_example(name, *size.example);
    shape.push_back(scope.integer_of(ir::symbolic_dim(name)));
  }
  return shape;
}

base::Result<std::vector<ir::Value>> OpaqueImport::import(const OnnxImportContext& context,
                                                          const OnnxProgramNode& node,
                                                          const std::vector<ir::Value>& values,
                                                          const std::string& reason) {
  const onnx::NodeProto& proto = *node.proto;
  if (node.scope != 0) {
    to_close_ = context.program.outermost_opener(node.scope);
    return base::unsupported(reason);
  }
  std::vector<ir::Value> operands;
  const std::size_t own =
      std::min(node.inputs.size(), static_cast<std::size_t>(proto.input_size()));
  for (std::size_t i = 0; i < own; ++i) {  // not the outputs of If's branches
    if (node.inputs[i].valid()) operands.push_back(values[node.inputs[i].index()]);
  }
  EGRET_ASSIGN_OR_RETURN(const std::vector<ir::Value> captured, captured_values(node, values));
  operands.insert(operands.end(), captured.begin(), captured.end());

  const std::string key = "node " + std::to_string(node.index);
  const ir::Value whole =
      context.builder.add(ir::opaque_operator(), operands, ir::opaque_attrs(key, full_type(proto)));
  std::vector<ir::Value> made;
  ResultTypes following;
  bool asked = false;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    made.emplace_back();
    if (!node.outputs[i].valid()) continue;
    const std::string& name = context.program.value_names[node.outputs[i].index()];
    auto declared = declared_type(name);
    ir::DType dtype = ir::DType::kF32;
    ir::Integers shape;
    bool typed = true;
    const bool says_all = declared && std::ranges::all_of(declared->dims, &ir::Index::is_constant);
    if (!says_all && !std::exchange(asked, true))
      following = result_types(context, node, values, untyped_);
    if (declared) {
      if (i < following.size() && following[i]) sharpen(*declared, *following[i]);
      dtype = declared->dtype;
      EGRET_ASSIGN_OR_RETURN(shape, shape_of(*declared));
    } else if (i < following.size() && following[i] &&
               (example_of_ || are_numbers(*following[i]))) {
      dtype = following[i]->dtype;
      EGRET_ASSIGN_OR_RETURN(shape, shape_of(*following[i], name));
    } else {
      typed = false;
    }
    made.back() = typed ? add_output(context.builder, whole, i, dtype, std::move(shape))
                        : add_untyped_output(context.builder, whole, i);
    if (!typed && made.back().valid()) untyped_.insert(made.back().id);
  }
  nodes_[key] = {.proto = proto.SerializeAsString(), .opset = opset_of(context.program, node)};
  return made;
}

ir::Value OpaqueImport::foreign(ir::GraphBuilder& builder, const std::string& name,
                                std::string tensor) {
  const std::string key = "value " + name;
  const ir::Value whole =
      builder.add(ir::opaque_operator(), std::span<const ir::Value>{}, ir::opaque_attrs(key, ""));
  const ir::Value value = add_untyped_output(builder, whole, 0);
  builder.set_name(value, name);
  untyped_.insert(value.id);
  nodes_[key] = {.value = name, .tensor = std::move(tensor)};
  return value;
}

namespace {

// What the values compute from the operands, with an input for each operand. nullopt if they
// depend on something else, or compute nothing.
std::optional<ir::Graph> body_between(const ir::Graph& graph,
                                      const std::vector<ir::Value>& operands,
                                      const std::vector<ir::Value>& made) {
  constexpr std::size_t kMostNodes = 1000;
  ir::Graph body;
  std::map<ir::NodeId, ir::NodeId> moved;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const ir::NodeId input = body.append({.kind = ir::NodeKind::kInput,
                                          .type = graph.node(operands[i].id).type,
                                          .name = "operand " + std::to_string(i)});
    moved.emplace(operands[i].id, input);
  }
  std::set<ir::NodeId> inner;
  std::vector<ir::NodeId> open;
  const auto reach = [&](ir::NodeId id) {
    if (!moved.contains(id) && inner.insert(id).second) open.push_back(id);
  };
  for (const ir::Value value : made) {
    if (value.valid()) reach(value.id);
  }
  while (!open.empty()) {
    const ir::Node& node = graph.node(open.back());
    open.pop_back();
    if (node.kind == ir::NodeKind::kInput || inner.size() > kMostNodes) return std::nullopt;
    if (node.kind == ir::NodeKind::kOperator && node.op->is_opaque()) return std::nullopt;
    for (const ir::NodeId input : node.inputs) reach(input);
  }
  for (const ir::NodeId id : inner) {  // in topological order, as ids are
    ir::Node node = graph.node(id);
    node.name.clear();
    for (ir::NodeId& input : node.inputs) input = moved.at(input);
    moved.emplace(id, body.append(std::move(node)));
  }
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (made[i].valid()) body.add_output(std::to_string(i), moved.at(made[i].id));
  }
  return body.operator_count() > 0 ? std::optional(std::move(body)) : std::nullopt;
}

// Whether export writes the body as one node with the operator of the model's.
bool is_written_as(const ir::Graph& body, const onnx::NodeProto& node, int opset) {
  onnx::GraphProto written;
  OnnxGraphWriter writer(written, opset);
  const base::Status status = writer.write(body);
  ir::SymbolicScope* const scope = ir::SymbolicScope::current();
  const bool undecided = scope != nullptr && scope->take_undecided();
  return status.ok() && !undecided && writer.needed_opset() <= opset && written.node_size() == 1 &&
         written.node(0).op_type() == node.op_type() &&
         canonical_domain(written.node(0).domain()) == canonical_domain(node.domain());
}

// A key that equal nodes with operands of equal types share.
std::string key_of(const onnx::NodeProto& node, const std::map<int, FixedInput>& fixed,
                   const ir::Graph& body) {
  std::string text = without_names(node).SerializeAsString();
  for (const auto& [input, value] : fixed) {
    text += ";" + std::to_string(input);
    if (const auto* tensor = std::get_if<ir::Tensor>(&value))
      text += tensor->content_hash().to_hex();
    if (const auto* sizes = std::get_if<std::vector<ir::Index>>(&value)) {
      for (const ir::Index& size : *sizes) text += "," + to_string(size);
    }
  }
  text += ir::to_text(body);
  return node.op_type() + "#" + base::content_hash(text).to_hex();
}

// Whether export can compute the sizes from the shapes of the graph's inputs.
bool can_be_computed(const std::vector<ir::Index>& sizes, const ir::Graph& graph) {
  return std::ranges::includes(ir::open_sizes(graph), ir::symbols_of(sizes));
}

bool may_stay_whole(const onnx::NodeProto& node) {
  return std::ranges::none_of(node.attribute(), [&](const onnx::AttributeProto& attribute) {
    const bool has_body = attribute.has_g() || attribute.graphs_size() > 0;
    return !attribute.ref_attr_name().empty() || (has_body && !is_if(node));
  });
}

}  // namespace

std::optional<OpaqueImport::Reading> OpaqueImport::reading_of(const OnnxImportContext& context,
                                                              const OnnxProgramNode& node,
                                                              const std::vector<ir::Value>& values,
                                                              const std::vector<ir::Value>& made) {
  const ir::Graph& graph = context.builder.graph();
  std::vector<ir::Value> all;  // inputs that are there, and values that branches read
  std::vector<int> place;
  const auto own = static_cast<std::size_t>(node.proto->input_size());
  for (std::size_t i = 0; i < std::min(own, node.inputs.size()); ++i) {
    if (!node.inputs[i].valid()) continue;
    all.push_back(values[node.inputs[i].index()]);
    place.push_back(static_cast<int>(i));
  }
  const auto captured = captured_values(node, values);
  if (!captured.ok()) return std::nullopt;
  all.insert(all.end(), captured->begin(), captured->end());
  Reading reading;
  auto body = body_between(graph, all, made);
  if (!body) return std::nullopt;
  // Inputs that the operators do not read, because import made attributes of them, are fixed.
  const std::vector<int> uses = ir::use_counts(*body);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto first = std::ranges::find(all, all[i].id, &ir::Value::id);
    const auto known = static_cast<std::size_t>(first - all.begin());
    if (uses[body->inputs()[known].index()] > 0 || i >= place.size()) {
      reading.operands.push_back(all[i]);
    } else if (is_if(*node.proto)) {
      return std::nullopt;  // the condition is known
    } else if (auto constant = context.constants.value(all[i].id)) {
      reading.fixed[place[i]] = *std::move(constant);
    } else if (auto sizes = context.sizes.elements(all[i].id);
               sizes && graph.node(all[i].id).type.rank() == 1 &&
               graph.node(all[i].id).type.dtype == ir::DType::kI64 &&
               can_be_computed(*sizes, graph)) {
      reading.fixed[place[i]] = *std::move(sizes);
    } else {
      reading.operands.push_back(all[i]);  // the value stays, though no operator reads it
    }
  }
  body = body_between(graph, reading.operands, made);
  if (!body) return std::nullopt;
  reading.body = *std::move(body);
  return reading;
}

std::vector<ir::Value> OpaqueImport::kept_whole(const OnnxImportContext& context,
                                                const OnnxProgramNode& node,
                                                const std::vector<ir::Value>& values,
                                                const std::vector<ir::Value>& made) {
  if (node.scope != 0 || !may_stay_whole(*node.proto)) return made;
  const bool rounds = keeps_rounding_ && rounding_.of(context, node, values);
  std::vector<ir::Value> result = whole_or_made(context, node, values, made, rounds);
  if (result.size() == 1 && result[0].valid()) rounding_.computed(result[0]);
  return result;
}

std::vector<ir::Value> OpaqueImport::whole_or_made(const OnnxImportContext& context,
                                                   const OnnxProgramNode& node,
                                                   const std::vector<ir::Value>& values,
                                                   const std::vector<ir::Value>& made,
                                                   bool depends_on_rounding) {
  const onnx::NodeProto& proto = *node.proto;
  const ir::Graph& graph = context.builder.graph();
  if (ir::SymbolicScope::current() != nullptr) context.sizes.extend();
  for (const ir::Value value : made) {
    if (!value.valid()) continue;
    // A range up to an open size depends on no input, but is no constant of the written model.
    const bool constant =
        context.constants.is_constant(value.id) && graph.node(value.id).type.is_concrete();
    if (graph.node(value.id).kind != ir::NodeKind::kOperator || constant ||
        context.sizes.elements(value.id).has_value()) {
      return made;
    }
  }
  auto reading = reading_of(context, node, values, made);
  const int opset = static_cast<int>(context.program.opset(node));
  if (!reading) return made;
  // Rewriting the branches of an If would compute both.
  const bool sealed = is_if(proto) || depends_on_rounding;
  if (!sealed && is_written_as(reading->body, proto, opset)) return made;

  const std::string key = key_of(proto, reading->fixed, reading->body);
  const ir::Value node_value = context.builder.add(ir::opaque_operator(), reading->operands,
                                                   ir::opaque_attrs(key, full_type(proto)));
  std::vector<ir::Value> whole;
  for (std::size_t i = 0; i < made.size(); ++i) {
    whole.emplace_back();
    if (!made[i].valid()) continue;
    const ir::TensorType& type = graph.node(made[i].id).type;
    auto shape = shape_of(type);
    if (!shape.ok()) return made;
    const ir::DType dtype = type.dtype;
    whole.back() = add_output(context.builder, node_value, i, dtype, *std::move(shape));
  }
  nodes_[key] = {.proto = proto.SerializeAsString(),
                 .opset = opset_of(context.program, node),
                 .fixed = std::move(reading->fixed)};
  bodies_[key] = {std::make_shared<const ir::Graph>(std::move(reading->body)), sealed};
  return whole;
}

base::Result<std::vector<ir::Value>> OpaqueImport::captured_values(
    const OnnxProgramNode& node, const std::vector<ir::Value>& values) {
  std::vector<ir::Value> captured;
  for (const ValueId value : node.captured) {
    if (!value.valid() || !values[value.index()].valid())
      return base::unsupported("its body reads a value that nothing defines");
    captured.push_back(values[value.index()]);
  }
  return captured;
}

}  // namespace egret::frontends
