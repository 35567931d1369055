// SPDX-License-Identifier: Apache-2.0
#include "frontends/nodes/onnx_node.h"

#include <algorithm>
#include <array>
#include <utility>

#include "frontends/onnx.pb.h"
#include "frontends/wire/onnx_tensor.h"
#include "ir/core/symbolic_scope.h"

namespace egret::frontends {
namespace {

// AttributeProto.AttributeType.
enum AttributeType : int {
  kFloat = 1,
  kInt,
  kString,
  kTensor,
  kGraph,
  kFloats,
  kInts,
  kStrings,
  kTensors,
  kGraphs,
  kSparseTensor,
};

std::string_view kind_name(int type) {
  static constexpr std::array<std::string_view, 12> kNames = {
      "nothing", "a real",   "an integer", "a string", "a tensor", "a graph",
      "reals",   "integers", "strings",    "tensors",  "graphs",   "a sparse tensor"};
  return type >= 0 && type < static_cast<int>(kNames.size())
             ? kNames[static_cast<std::size_t>(type)]
             : "something else";
}

// Files of IR version 1 and some exporters leave the type out; then the field that is filled tells.
int type_of(const onnx::AttributeProto& attribute) {
  if (attribute.type() != 0) return attribute.type();
  if (attribute.has_f()) return kFloat;
  if (attribute.has_i()) return kInt;
  if (attribute.has_s()) return kString;
  if (attribute.has_t()) return kTensor;
  if (attribute.has_g()) return kGraph;
  if (attribute.floats_size() > 0) return kFloats;
  if (attribute.ints_size() > 0) return kInts;
  if (attribute.strings_size() > 0) return kStrings;
  return 0;
}

const onnx::AttributeProto* named(
    const google::protobuf::RepeatedPtrField<onnx::AttributeProto>& attributes,
    std::string_view name) {
  const auto found = std::ranges::find_if(
      attributes, [&](const onnx::AttributeProto& candidate) { return candidate.name() == name; });
  return found != attributes.end() ? &*found : nullptr;
}

std::int64_t limited(std::int64_t value) {
  return std::clamp(value, -ir::OnnxNode::kIntegerLimit, ir::OnnxNode::kIntegerLimit);
}

}  // namespace

ImportedNode::ImportedNode(const OnnxImportContext& context, const OnnxProgramNode& node,
                           std::vector<ir::Value> inputs)
    : context_(context), node_(node), inputs_(std::move(inputs)) {}

std::string_view ImportedNode::op_type() const { return node_.proto->op_type(); }
int ImportedNode::opset() const { return static_cast<int>(context_.program.opset(node_)); }

bool ImportedNode::has_output(int i) const {
  return i >= 0 && i < output_count() && node_.outputs[static_cast<std::size_t>(i)].valid();
}

bool ImportedNode::has_input(int i) const {
  return i >= 0 && i < input_count() && inputs_[static_cast<std::size_t>(i)].valid();
}

ir::Value ImportedNode::input(int i) const {
  if (has_input(i)) return inputs_[static_cast<std::size_t>(i)];
  fail(base::bad_input("input " + std::to_string(i) + " is missing"));
  return {};
}

const ir::TensorType& ImportedNode::type(ir::Value value) const {
  return context_.builder.type(value);
}

// Elements that are computed from the shape of a value with open sizes may still be numbers.
std::optional<ir::Tensor> ImportedNode::constant(int i) const {
  if (!has_input(i)) return std::nullopt;
  const ir::Value value = inputs_[static_cast<std::size_t>(i)];
  if (auto known = context_.constants.value(value.id)) return known;
  const ir::TensorType& type = context_.builder.type(value);
  const bool may_be_sizes = type.dtype == ir::DType::kI64 || type.dtype == ir::DType::kI32;
  if (ir::SymbolicScope::current() == nullptr || !may_be_sizes || !type.is_concrete())
    return std::nullopt;
  const auto elements = sizes(i);
  if (!elements || !std::ranges::all_of(*elements, &ir::Index::is_constant)) return std::nullopt;
  ir::Tensor numbers(type);
  for (std::size_t k = 0; k < elements->size(); ++k)
    numbers.set_i64(static_cast<std::int64_t>(k), (*elements)[k].constant());
  return numbers;
}

std::optional<std::vector<ir::Index>> ImportedNode::sizes(int i) const {
  if (!has_input(i)) return std::nullopt;
  context_.sizes.extend();
  const ir::NodeId id = inputs_[static_cast<std::size_t>(i)].id;
  auto elements = context_.sizes.elements(id);
  return elements && context_.sizes.rely_on(id) ? std::move(elements) : std::nullopt;
}

std::optional<std::vector<ir::SizeRatio>> ImportedNode::size_ratios(int i) const {
  if (!has_input(i)) return std::nullopt;
  context_.sizes.extend();
  const ir::NodeId id = inputs_[static_cast<std::size_t>(i)].id;
  auto ratios = context_.sizes.ratios(id);
  return ratios && context_.sizes.rely_on(id) ? std::move(ratios) : std::nullopt;
}

void ImportedNode::fail(base::Status status) const {
  if (status_.ok()) status_ = std::move(status);
}

const onnx::AttributeProto* ImportedNode::attribute(std::string_view name) const {
  asked_.emplace(name);
  const onnx::AttributeProto* found = named(node_.proto->attribute(), name);
  // In a function's body an attribute may stand for one of the call, or for its default.
  int scope = node_.scope;
  while (found != nullptr && !found->ref_attr_name().empty()) {
    const OnnxScope& at = context_.program.scopes[static_cast<std::size_t>(scope)];
    if (at.call == nullptr) return nullptr;
    const std::string& meant = found->ref_attr_name();
    found = named(at.call->attribute(), meant);
    if (found == nullptr) return named(at.function->attribute_proto(), meant);
    scope = at.call_scope;
  }
  return found;
}

const onnx::AttributeProto* ImportedNode::find(std::string_view name, int type) const {
  const onnx::AttributeProto* found = attribute(name);
  if (found == nullptr) return nullptr;
  const int actual = type_of(*found);
  // An empty list whose kind the file leaves out.
  if (actual == 0 && type >= kFloats && type <= kStrings) return found;
  if (actual == type) return found;
  fail(base::bad_input("attribute " + in_quotes(name) + " is " + std::string(kind_name(actual)) +
                       " instead of " + std::string(kind_name(type))));
  return nullptr;
}

bool ImportedNode::has_attr(std::string_view name) const { return attribute(name) != nullptr; }

std::int64_t ImportedNode::integer(std::string_view name, std::int64_t otherwise) const {
  const auto* found = find(name, kInt);
  return found != nullptr ? limited(found->i()) : otherwise;
}

double ImportedNode::real(std::string_view name, double otherwise) const {
  const auto* found = find(name, kFloat);
  return found != nullptr ? double{found->f()} : otherwise;
}

std::string ImportedNode::text(std::string_view name, std::string_view otherwise) const {
  const auto* found = find(name, kString);
  return found != nullptr ? found->s() : std::string(otherwise);
}

ir::Integers ImportedNode::integers(std::string_view name, ir::Integers otherwise) const {
  const auto* found = find(name, kInts);
  if (found == nullptr) return otherwise;
  ir::Integers values;
  for (const std::int64_t value : found->ints()) values.push_back(limited(value));
  return values;
}

std::vector<double> ImportedNode::reals(std::string_view name,
                                        std::vector<double> otherwise) const {
  const auto* found = find(name, kFloats);
  if (found == nullptr) return otherwise;
  return {found->floats().begin(), found->floats().end()};
}

std::vector<std::string> ImportedNode::texts(std::string_view name) const {
  const auto* found = find(name, kStrings);
  if (found == nullptr) return {};
  return {found->strings().begin(), found->strings().end()};
}

std::optional<ir::Tensor> ImportedNode::tensor(std::string_view name) const {
  const auto* found = find(name, kTensor);
  if (found == nullptr) return std::nullopt;
  auto read = read_tensor(found->t(), context_.folder, context_.max_value_bytes);
  if (!read.ok()) {
    fail(read.status().at("attribute " + in_quotes(name)));
    return std::nullopt;
  }
  return *std::move(read);
}

std::int64_t ImportedNode::axis(std::int64_t value, int rank) const {
  const std::int64_t made = value < 0 ? value + rank : value;
  if (made >= 0 && made < rank) return made;
  fail(base::bad_input("axis " + std::to_string(value) + " is outside a tensor of " +
                       std::to_string(rank) + " axes"));
  return 0;
}

std::vector<std::string> ImportedNode::ignored_attributes() const {
  std::vector<std::string> names;
  for (const auto& candidate : node_.proto->attribute()) {
    if (!asked_.contains(candidate.name())) names.push_back(candidate.name());
  }
  return names;
}

}  // namespace egret::frontends
