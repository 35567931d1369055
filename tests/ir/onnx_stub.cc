// SPDX-License-Identifier: Apache-2.0
#include "tests/ir/onnx_stub.h"

#include <algorithm>

namespace egret::ir {
namespace {

class StubOnnxNode final : public OnnxNode {
 public:
  StubOnnxNode(const StubNode& node, GraphBuilder& builder) : node_(node), builder_(builder) {
    for (const StubInput& input : node.inputs) {
      const std::string name = "x" + std::to_string(values_.size());
      if (const auto* type = std::get_if<TensorType>(&input)) {
        values_.push_back(builder.input(name, *type));
      } else if (const auto* tensor = std::get_if<Tensor>(&input)) {
        values_.push_back(builder.constant(*tensor));
      } else {
        values_.emplace_back();
      }
    }
  }

  std::string_view op_type() const override { return node_.op_type; }
  int opset() const override { return node_.opset; }
  int input_count() const override { return static_cast<int>(values_.size()); }
  int output_count() const override { return node_.outputs; }
  bool has_output(int i) const override { return i < node_.outputs; }
  bool has_input(int i) const override {
    return i < input_count() && values_[static_cast<std::size_t>(i)].valid();
  }
  Value input(int i) const override { return values_[static_cast<std::size_t>(i)]; }
  const TensorType& type(Value value) const override { return builder_.type(value); }
  std::optional<Tensor> constant(int i) const override {
    if (!has_input(i)) return std::nullopt;
    const auto* tensor = std::get_if<Tensor>(&node_.inputs[static_cast<std::size_t>(i)]);
    return tensor != nullptr ? std::optional(*tensor) : std::nullopt;
  }

  bool has_attr(std::string_view name) const override { return node_.attrs.contains(name); }
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const override {
    return attr(name, otherwise);
  }
  double real(std::string_view name, double otherwise) const override {
    return attr(name, otherwise);
  }
  std::string text(std::string_view name, std::string_view otherwise) const override {
    return attr(name, std::string(otherwise));
  }
  Integers integers(std::string_view name, Integers otherwise) const override {
    return attr(name, std::move(otherwise));
  }
  std::vector<double> reals(std::string_view name, std::vector<double> otherwise) const override {
    return attr(name, std::move(otherwise));
  }
  std::vector<std::string> texts(std::string_view /*name*/) const override { return {}; }
  std::optional<Tensor> tensor(std::string_view /*name*/) const override { return std::nullopt; }
  GraphBuilder& builder() const override { return builder_; }
  std::int64_t axis(std::int64_t value, int rank) const override {
    return value < 0 ? value + rank : value;
  }

 private:
  template <typename T>
  T attr(std::string_view name, T otherwise) const {
    const auto found = node_.attrs.find(name);
    return found != node_.attrs.end() ? std::get<T>(found->second) : otherwise;
  }

  const StubNode& node_;
  GraphBuilder& builder_;
  std::vector<Value> values_;
};

const OnnxImport* find_import(std::string_view op_type) {
  for (const Operator* op : all_operators()) {
    for (const OnnxImportRow& row : op->onnx_imports()) {
      const std::string domain = row.domain.empty() ? "" : row.domain + ".";
      if (domain + row.op_type == op_type) return &row.import;
    }
  }
  return nullptr;
}

std::string number(NodeId id) { return "%" + std::to_string(id.index()); }

std::string operator_lines(const Graph& graph) {
  std::string text;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (node.kind != NodeKind::kOperator) continue;
    std::string inputs;
    for (const NodeId input : node.inputs) inputs += (inputs.empty() ? "" : ", ") + number(input);
    if (!text.empty()) text += "\n";
    text += "%" + std::to_string(i) + " = " + node.op->name() + "(" + inputs + ")";
    if (!node.attrs.empty()) text += " " + to_string(node.attrs);
    text += ": " + to_string(node.type);
  }
  return text;
}

class StubOnnxWriter final : public OnnxWriter {
 public:
  StubOnnxWriter(const Attrs& attrs, const std::vector<TensorType>& inputs, TensorType output,
                 int opset)
      : attrs_(attrs), inputs_(inputs), output_(std::move(output)), opset_(opset) {}

  int opset() const override { return opset_; }
  const Attrs& attrs() const override { return attrs_; }
  int input_count() const override { return static_cast<int>(inputs_.size()); }
  std::string input(int i) const override { return std::string(1, static_cast<char>('a' + i)); }
  const TensorType& input_type(int i) const override {
    return inputs_[static_cast<std::size_t>(i)];
  }
  const TensorType& output_type() const override { return output_; }
  std::string emit(std::string_view op_type, std::vector<std::string> inputs,
                   std::vector<Attribute> attributes, std::string_view /*domain*/, int /*outputs*/,
                   int which_output) override {
    if (!text_.empty()) text_ += "\n";
    text_ += std::string(op_type) + "(";
    for (std::size_t i = 0; i < inputs.size(); ++i) text_ += (i > 0 ? ", " : "") + inputs[i];
    text_ += ")";
    for (const Attribute& attribute : attributes) {
      text_ += " " + attribute.name + "=";
      std::visit([this](const auto& value) { text_ += spelled(value); }, attribute.value);
    }
    if (which_output > 0) text_ += " output " + std::to_string(which_output);
    return "t" + std::to_string(count_++);
  }
  std::string constant(const Tensor& tensor) override { return spelled(tensor); }
  const std::string& text() const { return text_; }

 private:
  static std::string spelled(std::int64_t value) { return std::to_string(value); }
  static std::string spelled(double value) { return to_string(AttrValue(value)); }
  static std::string spelled(const std::string& value) { return value; }
  static std::string spelled(const Integers& value) { return to_string(AttrValue(value)); }
  static std::string spelled(const std::vector<double>& value) {
    return std::to_string(value.size()) + " reals";
  }
  static std::string spelled(const Tensor& tensor) { return to_string(tensor); }

  const Attrs& attrs_;
  const std::vector<TensorType>& inputs_;
  TensorType output_;
  int opset_;
  int count_ = 0;
  std::string text_;
};

}  // namespace

std::string import_text(const StubNode& node) {
  const OnnxImport* import = find_import(node.op_type);
  if (import == nullptr) return "no operator imports " + node.op_type;
  GraphBuilder builder;
  StubOnnxNode stub(node, builder);
  const auto values = (*import)(stub);
  if (!values.ok()) return values.status().message();
  for (std::size_t i = 0; i < values->size(); ++i) {
    if ((*values)[i].valid()) builder.output("y" + std::to_string(i), (*values)[i]);
  }
  const auto graph = builder.finish();
  return graph.ok() ? operator_lines(*graph) : graph.status().message();
}

std::string export_text(std::string_view name, const Attrs& attrs,
                        const std::vector<TensorType>& inputs, int opset) {
  const Operator& op = get_operator(name);
  const auto canonical = canonical_attrs(op.attrs(), attrs);
  if (!canonical.ok()) return canonical.status().message();
  auto type = infer_type(op, *canonical, inputs);
  if (!type.ok()) return type.status().message();
  if (!op.onnx_export() || (op.is_composite() && opset < op.onnx_since())) return "body";
  if (opset < op.onnx_since()) return "needs opset " + std::to_string(op.onnx_since());
  StubOnnxWriter writer(*canonical, inputs, *std::move(type), opset);
  const auto status = op.onnx_export()(writer);
  if (!status.ok()) return op.is_composite() ? "body" : status.message();
  return writer.text();
}

}  // namespace egret::ir
