// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/onnx_binding.h"

#include <algorithm>
#include <array>

#include "ir/graph/builder.h"
#include "ir/graph/operator.h"

namespace egret::ir {

std::vector<Value> OnnxNode::inputs() const {
  std::vector<Value> all;
  all.reserve(static_cast<std::size_t>(input_count()));
  for (int i = 0; i < input_count(); ++i) all.push_back(input(i));
  return all;
}

std::vector<std::string> OnnxWriter::inputs() const {
  std::vector<std::string> all;
  all.reserve(static_cast<std::size_t>(input_count()));
  for (int i = 0; i < input_count(); ++i) all.push_back(input(i));
  return all;
}

std::optional<Integers> OnnxNode::constant_integers(int i) const {
  const std::optional<Tensor> tensor = constant(i);
  if (!tensor) return std::nullopt;
  Integers values;
  for (std::int64_t k = 0; k < tensor->elements(); ++k) {
    values.push_back(std::clamp(tensor->i64_at(k), -kIntegerLimit, kIntegerLimit));
  }
  return values;
}

std::optional<std::vector<Index>> OnnxNode::sizes(int i) const {
  const auto values = constant_integers(i);
  if (!values) return std::nullopt;
  return std::vector<Index>(values->begin(), values->end());
}

std::optional<std::vector<SizeRatio>> OnnxNode::size_ratios(int i) const {
  const auto integers = sizes(i);
  if (!integers) return std::nullopt;
  std::vector<SizeRatio> ratios;
  for (const Index& size : *integers) ratios.push_back({size, 1});
  return ratios;
}

base::Result<std::vector<Value>> run_import(const OnnxImport& import, OnnxNode& node) {
  try {
    return import(node);
  } catch (const IndexError& error) {
    return base::bad_input(error.reason);
  }
}

std::string OnnxWriter::constant_integers(const Integers& values) {
  return constant(Tensor::of_integers(values));
}

namespace {

// The node's attributes that `op` declares.
Attrs declared_attrs(const OnnxNode& node, const Operator& op) {
  Attrs attrs;
  for (const AttrSpec& spec : op.attrs()) {
    if (!node.has_attr(spec.name)) continue;
    switch (spec.kind) {
      case AttrKind::kInteger: attrs.set(spec.name, node.integer(spec.name, 0)); break;
      case AttrKind::kReal: attrs.set(spec.name, node.real(spec.name, 0)); break;
      case AttrKind::kText: attrs.set(spec.name, node.text(spec.name, "")); break;
      case AttrKind::kIntegers: attrs.set(spec.name, node.integers(spec.name, {})); break;
    }
  }
  return attrs;
}

base::Result<std::vector<Value>> add_with(OnnxNode& node, const Operator& op, Attrs attrs) {
  std::vector<Value> inputs;
  for (int i = 0; i < node.input_count(); ++i) {
    if (!node.has_input(i)) return base::bad_input("input " + std::to_string(i) + " is missing");
    inputs.push_back(node.input(i));
  }
  return only_output(node.builder().add(op, inputs, std::move(attrs)));
}

}  // namespace

OnnxImport same_name_import(const Operator& op_prototype) {
  return [name = op_prototype.name()](OnnxNode& node) {
    const Operator& op = get_operator(name);
    return add_with(node, op, declared_attrs(node, op));
  };
}

OnnxImport axis_import(const Operator& op_prototype, std::int64_t otherwise) {
  return [name = op_prototype.name(), otherwise](OnnxNode& node) {
    const Operator& op = get_operator(name);
    Attrs attrs = declared_attrs(node, op);
    const int rank = node.has_input(0) ? node.type(node.input(0)).rank() : 0;
    attrs.set("axis", node.axis(node.integer("axis", otherwise), rank));
    return add_with(node, op, std::move(attrs));
  };
}

OnnxImport chain_import(std::string op) {
  return [op = std::move(op)](OnnxNode& node) -> base::Result<std::vector<Value>> {
    for (int i = 0; i < std::max(1, node.input_count()); ++i) {
      if (!node.has_input(i)) return base::bad_input("input " + std::to_string(i) + " is missing");
    }
    Value joint = node.input(0);
    for (int i = 1; i < node.input_count(); ++i) {
      joint = node.builder().add(op, {joint, node.input(i)});
    }
    return only_output(joint);
  };
}

base::Result<std::vector<Value>> only_output(Value value) { return std::vector<Value>{value}; }

OnnxExport same_name_export(std::string op_type) {
  return [op_type = std::move(op_type)](OnnxWriter& writer) {
    std::vector<std::string> inputs = writer.inputs();
    std::vector<OnnxWriter::Attribute> attributes;
    for (const auto& [name, value] : writer.attrs().entries()) {
      std::visit(
          [&, &name = name](const auto& typed) {
            attributes.push_back({name, typed});
          },
          value);
    }
    writer.emit(op_type, std::move(inputs), std::move(attributes));
    return base::ok();
  };
}

namespace {
struct Code {
  std::int64_t code;
  DType type;
};
constexpr std::array<Code, kDTypeCount> kCodes = {{{1, DType::kF32},
                                                   {2, DType::kU8},
                                                   {3, DType::kI8},
                                                   {4, DType::kU16},
                                                   {5, DType::kI16},
                                                   {6, DType::kI32},
                                                   {7, DType::kI64},
                                                   {9, DType::kBool},
                                                   {10, DType::kF16},
                                                   {11, DType::kF64},
                                                   {12, DType::kU32},
                                                   {13, DType::kU64},
                                                   {16, DType::kBF16}}};
}  // namespace

std::optional<DType> dtype_from_onnx(std::int64_t code) {
  for (const Code& row : kCodes) {
    if (row.code == code) return row.type;
  }
  return std::nullopt;
}

std::int64_t onnx_code(DType type) {
  for (const Code& row : kCodes) {
    if (row.type == type) return row.code;
  }
  return 0;
}

}  // namespace egret::ir
