// SPDX-License-Identifier: Apache-2.0
#include "frontends/nodes/opaque_import.h"

#include <utility>

#include "frontends/nodes/captured_names.h"
#include "frontends/onnx.pb.h"
#include "frontends/wire/onnx_attributes.h"
#include "ir/core/symbolic_scope.h"
#include "ir/ops/opaque.h"

namespace egret::frontends {
namespace {

constexpr std::int64_t kLargestSize = std::int64_t{1} << 40;

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
    if (dim.has_dim_value() && (dim.dim_value() < 0 || dim.dim_value() > kLargestSize))
      return std::nullopt;
    // A size without a name differs from all others.
    const std::string name =
        dim.dim_param().empty() ? value.name() + "_" + std::to_string(axis) : dim.dim_param();
    type.dims.push_back(dim.has_dim_value() ? ir::Index(dim.dim_value()) : ir::symbolic_dim(name));
  }
  return type;
}

}  // namespace

OpaqueImport::OpaqueImport(const onnx::GraphProto& graph,
                           const std::function<std::int64_t(std::string_view, int)>& example_of)
    : example_of_(example_of) {
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

base::Result<ir::Integers> OpaqueImport::shape_of(const ir::TensorType& type) {
  ir::Integers shape;
  for (std::size_t axis = 0; axis < type.dims.size(); ++axis) {
    const ir::Index size = type.dims[axis];
    if (size.is_constant()) {
      shape.push_back(size.constant());
      continue;
    }
    const std::string_view name = size.node()->name;
    if (!example_of_) return base::unsupported("a result of the open size " + std::string(name));
    const std::int64_t example =
        example_of_(name, static_cast<int>(axis));  // it may open the scope
    ir::SymbolicScope& scope = *ir::SymbolicScope::current();
    if (!scope.examples().contains(name)) scope.symbol(name, example);
    shape.push_back(scope.integer_of(size));
  }
  return shape;
}

base::Result<std::vector<ir::Value>> OpaqueImport::import(const OnnxImportContext& context,
                                                          const OnnxProgramNode& node,
                                                          const std::vector<ir::Value>& values,
                                                          const std::string& reason) {
  const onnx::NodeProto& proto = *node.proto;
  if (node.scope != 0) return base::unsupported(reason);
  std::vector<ir::Value> operands;
  for (int i = 0; i < proto.input_size(); ++i) {  // not the outputs of If's branches
    const ValueId input = node.inputs[static_cast<std::size_t>(i)];
    if (input.valid()) operands.push_back(values[input.index()]);
  }
  EGRET_ASSIGN_OR_RETURN(const std::vector<ir::Value> captured,
                         captured_values(context.program, proto, values));
  operands.insert(operands.end(), captured.begin(), captured.end());

  const std::string domain = canonical_domain(proto.domain());
  ir::OpaqueOutput output{.node = "node " + std::to_string(node.index),
                          .type = (domain.empty() ? "" : domain + "::") + proto.op_type()};
  std::vector<ir::Value> made;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].valid()) {
      made.emplace_back();
      continue;
    }
    const auto type = declared_type(context.program.value_names[node.outputs[i].index()]);
    output.output = static_cast<std::int64_t>(i);
    output.dtype = type ? type->dtype : ir::DType::kF32;
    output.shape.clear();
    if (type) {
      EGRET_ASSIGN_OR_RETURN(output.shape, shape_of(*type));
    }
    made.push_back(context.builder.add(ir::opaque_operator(), operands, ir::opaque_attrs(output)));
    if (!type && made.back().valid()) untyped_.insert(made.back().id);
  }
  nodes_[output.node] = proto.SerializeAsString();
  return made;
}

// In the order of captured_names().
base::Result<std::vector<ir::Value>> OpaqueImport::captured_values(
    const OnnxProgram& program, const onnx::NodeProto& node, const std::vector<ir::Value>& values) {
  std::vector<ir::Value> captured;
  for (const std::string& name : captured_names(node)) {
    if (main_values_.empty()) {
      for (std::size_t i = 0; i < program.value_names.size(); ++i)
        main_values_.try_emplace(program.value_names[i], ValueId(i));
    }
    const auto found = main_values_.find(name);
    const bool known = found != main_values_.end() && values[found->second.index()].valid();
    if (!known) return base::unsupported("its body reads " + in_quotes(name));
    captured.push_back(values[found->second.index()]);
  }
  return captured;
}

}  // namespace egret::frontends
