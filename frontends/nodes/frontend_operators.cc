// SPDX-License-Identifier: Apache-2.0
#include "frontends/nodes/frontend_operators.h"

#include <array>

#include "frontends/nodes/operator_names.h"
#include "frontends/onnx.pb.h"

namespace egret::frontends {
namespace {

using ir::Tensor;
using ir::Value;
using Values = base::Result<std::vector<Value>>;

base::Result<Tensor> constant_of(const ImportedNode& node) {
  if (node.has_attr("value")) {
    auto tensor = node.tensor("value");
    return tensor ? base::Result<Tensor>(*std::move(tensor)) : base::Result<Tensor>(node.status());
  }
  if (const auto* value = node.attribute("value_int")) {
    Tensor tensor(ir::TensorType(ir::DType::kI64, ir::Dims{}));
    tensor.set_i64(0, value->i());
    return tensor;
  }
  if (const auto* value = node.attribute("value_ints"))
    return Tensor::of_integers(ir::Integers(value->ints().begin(), value->ints().end()));
  if (node.has_attr("value_float"))
    return Tensor::scalar(ir::DType::kF32, node.real("value_float", 0));
  if (node.has_attr("value_floats")) {
    const std::vector<double> values = node.reals("value_floats", {});
    return Tensor::of(ir::DType::kF32, ir::Shape{static_cast<std::int64_t>(values.size())}, values);
  }
  for (const char* name : {"value_string", "value_strings", "sparse_value"}) {
    if (node.has_attr(name)) return base::unsupported(std::string("a constant of kind ") + name);
  }
  return base::bad_input("has no value");
}

Values import_constant(ImportedNode& node) {
  EGRET_ASSIGN_OR_RETURN(Tensor tensor, constant_of(node));
  return std::vector<Value>{node.builder().constant(std::move(tensor))};
}

// Both branches are computed and one is selected: operators have no effects but their values. A
// condition that is known at import selects right away. The inputs are the condition, the outputs
// of then_branch, those of else_branch.
Values import_if(ImportedNode& node) {
  node.attribute("then_branch");
  node.attribute("else_branch");
  const int outputs = node.output_count();
  const ir::TensorType& type = node.type(node.input(0));
  if (type.dtype != ir::DType::kBool)
    return base::bad_input("its condition is " + to_string(type) + ", not a bool");
  const auto known = node.constant(0);
  if (known && known->elements() != 1)
    return base::bad_input("its condition has " + std::to_string(known->elements()) + " elements");
  Value condition = node.input(0);
  if (!known && type.rank() > 0)
    condition = node.builder().add("reshape", {condition}, {{"shape", ir::Integers{}}});

  std::vector<Value> values;
  for (int i = 0; i < outputs; ++i) {
    const Value yes = node.input(1 + i);
    const Value no = node.input(1 + outputs + i);
    if (known) {
      values.push_back(known->i64_at(0) != 0 ? yes : no);
      continue;
    }
    if (!(node.type(yes) == node.type(no))) {
      return base::unsupported("branches of different types, " + to_string(node.type(yes)) +
                               " and " + to_string(node.type(no)));
    }
    values.push_back(node.builder().add("where", {condition, yes, no}));
  }
  return values;
}

struct Row {
  std::string_view op_type;
  FrontendImport import;
};
constexpr std::array<Row, 2> kRows = {{{"Constant", import_constant}, {"If", import_if}}};

}  // namespace

FrontendImport find_frontend_operator(std::string_view domain, std::string_view op_type) {
  for (const Row& row : kRows) {
    if (domain.empty() && row.op_type == op_type) return row.import;
  }
  return nullptr;
}

std::span<const std::string_view> frontend_operators() {
  static constexpr auto kNames = [] {
    std::array<std::string_view, kRows.size()> names;
    for (std::size_t i = 0; i < kRows.size(); ++i) names[i] = kRows[i].op_type;
    return names;
  }();
  return kNames;
}

}  // namespace egret::frontends
