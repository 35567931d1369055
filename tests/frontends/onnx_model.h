// SPDX-License-Identifier: Apache-2.0
// ONNX models built in a few lines, for tests:
//
//   OnnxModel m;
//   m.input("x", {2, 3});
//   m.node("Relu", {"x"}, {"y"});
//   m.output("y");
//   auto model = m.import();
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "frontends/onnx.h"
#include "frontends/onnx.pb.h"

namespace egret::frontends {

inline constexpr int kFloatCode = 1;
inline constexpr int kInt64Code = 7;

inline onnx::TensorProto* fill_header(onnx::TensorProto* tensor, const std::string& name, int code,
                                      const std::vector<std::int64_t>& dims) {
  tensor->set_name(name);
  tensor->set_data_type(code);
  for (const std::int64_t size : dims) tensor->add_dims(size);
  return tensor;
}

// Adds attributes to a node: Attributes(node).integer("axis", 1).integers("pads", {0, 0}).
class Attributes {
 public:
  explicit Attributes(onnx::NodeProto* node) : node_(node) {}
  Attributes& integer(const std::string& name, std::int64_t value) {
    add(name, 2)->set_i(value);
    return *this;
  }
  Attributes& real(const std::string& name, float value) {
    add(name, 1)->set_f(value);
    return *this;
  }
  Attributes& text(const std::string& name, const std::string& value) {
    add(name, 3)->set_s(value);
    return *this;
  }
  Attributes& integers(const std::string& name, const std::vector<std::int64_t>& values) {
    auto* attribute = add(name, 7);
    for (const std::int64_t value : values) attribute->add_ints(value);
    return *this;
  }
  onnx::TensorProto* tensor(const std::string& name) { return add(name, 4)->mutable_t(); }
  onnx::GraphProto* graph(const std::string& name) { return add(name, 5)->mutable_g(); }
  // In a function's body: the attribute `meant` of the call.
  Attributes& reference(const std::string& name, int type, const std::string& meant) {
    add(name, type)->set_ref_attr_name(meant);
    return *this;
  }

 private:
  onnx::AttributeProto* add(const std::string& name, int type) {
    auto* attribute = node_->add_attribute();
    attribute->set_name(name);
    attribute->set_type(type);
    return attribute;
  }
  onnx::NodeProto* node_;
};

using Names = std::vector<std::string>;

template <typename Proto>  // a graph or a function
Attributes add_node(Proto& to, const std::string& op, const Names& inputs, const Names& outputs) {
  auto* node = to.add_node();
  node->set_op_type(op);
  for (const std::string& name : inputs) node->add_input(name);
  for (const std::string& name : outputs) node->add_output(name);
  return Attributes(node);
}

struct OnnxModel {
  onnx::ModelProto proto;

  explicit OnnxModel(int opset = 13) {
    proto.set_ir_version(8);
    opset_import("", opset);
    proto.mutable_graph()->set_name("test");
  }

  onnx::GraphProto& graph() { return *proto.mutable_graph(); }
  void opset_import(const std::string& domain, int version) {
    auto* entry = proto.add_opset_import();
    entry->set_domain(domain);
    entry->set_version(version);
  }
  onnx::TensorShapeProto* input(const std::string& name, const std::vector<std::int64_t>& dims,
                                int code = kFloatCode) {
    auto* info = graph().add_input();
    info->set_name(name);
    auto* type = info->mutable_type()->mutable_tensor_type();
    type->set_elem_type(code);
    for (const std::int64_t size : dims) type->mutable_shape()->add_dim()->set_dim_value(size);
    return type->mutable_shape();
  }
  void output(const std::string& name) { graph().add_output()->set_name(name); }
  Attributes node(const std::string& op, const Names& inputs, const Names& outputs) {
    return add_node(graph(), op, inputs, outputs);
  }
  onnx::TensorProto* initializer(const std::string& name, int code,
                                 const std::vector<std::int64_t>& dims) {
    return fill_header(graph().add_initializer(), name, code, dims);
  }
  void integers(const std::string& name, const std::vector<std::int64_t>& values) {
    auto* tensor = initializer(name, kInt64Code, {static_cast<std::int64_t>(values.size())});
    for (const std::int64_t value : values) tensor->add_int64_data(value);
  }

  std::string bytes() const { return proto.SerializeAsString(); }
  base::Result<ImportedModel> import(const ImportOptions& options = {}) const {
    const std::string made = bytes();
    return import_onnx_bytes(std::as_bytes(std::span(made)), "", options);
  }
};

}  // namespace egret::frontends
