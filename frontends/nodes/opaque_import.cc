// SPDX-License-Identifier: Apache-2.0
#include "frontends/nodes/opaque_import.h"

#include <utility>

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

bool has_body(const onnx::NodeProto& node) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g() || attribute.graphs_size() > 0) return true;
  }
  return false;
}

}  // namespace

OpaqueImport::OpaqueImport(const onnx::GraphProto& graph,
                           const std::function<std::int64_t(std::string_view)>& example_of)
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
  for (const ir::Index& size : type.dims) {
    if (size.is_constant()) {
      shape.push_back(size.constant());
      continue;
    }
    const std::string_view name = size.node()->name;
    if (!example_of_) return base::unsupported("a result of the open size " + std::string(name));
    const std::int64_t example = example_of_(name);  // it may open the scope
    ir::SymbolicScope& scope = *ir::SymbolicScope::current();
    if (!scope.examples().contains(name)) scope.symbol(name, example);
    shape.push_back(scope.integer_of(size));
  }
  return shape;
}

base::Result<std::vector<ir::Value>> OpaqueImport::import(const OnnxImportContext& context,
                                                          const OnnxProgramNode& node,
                                                          const std::vector<ir::Value>& inputs,
                                                          const std::string& reason) {
  const onnx::NodeProto& proto = *node.proto;
  if (node.scope != 0) return base::unsupported(reason + " (within a body or function)");
  if (has_body(proto)) return base::unsupported(reason);
  const std::string domain = canonical_domain(proto.domain());
  ir::OpaqueOutput output{.node = "node " + std::to_string(node.index),
                          .type = (domain.empty() ? "" : domain + "::") + proto.op_type()};
  std::vector<ir::Value> operands;
  for (const ir::Value& input : inputs) {
    if (input.valid()) operands.push_back(input);
  }
  std::vector<ir::Value> values;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].valid()) {
      values.emplace_back();
      continue;
    }
    const std::string& name = context.program.value_names[node.outputs[i].index()];
    const auto type = declared_type(name);
    if (!type) {
      return base::unsupported(reason + "; the model does not declare the type of its output " +
                               in_quotes(name));
    }
    EGRET_ASSIGN_OR_RETURN(output.shape, shape_of(*type));
    output.output = static_cast<std::int64_t>(i);
    output.dtype = type->dtype;
    values.push_back(
        context.builder.add(ir::opaque_operator(), operands, ir::opaque_attrs(output)));
  }
  nodes_[output.node] = proto.SerializeAsString();
  return values;
}

}  // namespace egret::frontends
