// SPDX-License-Identifier: Apache-2.0
#include "rules/tensors/tensor_language.h"

#include "ir/core/tensor_contents.h"

namespace egret::rules {

using egraph::BaseId;
using egraph::OpId;

// '$' separates the leaves from all operator names.
TensorLanguage::TensorLanguage()
    : constant_base_(table_.base("$constant")), input_base_(table_.base("$input")) {
  table_.set_printer([this](const egraph::OpTable&, OpId id) { return text(id); });
}

OpId TensorLanguage::operation(const ir::Operator& op, const ir::Attrs& attrs, std::size_t arity) {
  const BaseId base_id = table_.base(op.name());
  if (operators_.size() <= base_id.index()) operators_.resize(base_id.index() + 1, nullptr);
  operators_[base_id.index()] = &op;
  const auto [found, is_new] = attrs_index_.emplace(attrs, attrs_.size());
  if (is_new) attrs_.push_back(std::make_unique<const ir::Attrs>(attrs));
  return table_.op(base_id, arity, found->second);
}

OpId TensorLanguage::node(const ir::Node& node) {
  switch (node.kind) {
    case ir::NodeKind::kInput: return input(node.name, node.type);
    case ir::NodeKind::kConstant: return constant(node.data, node.name);
    case ir::NodeKind::kOperator: break;
  }
  return operation(*node.op, node.attrs, node.inputs.size());
}

base::Result<OpId> TensorLanguage::checked_operation(const ir::Operator& op, const ir::Attrs& given,
                                                     std::size_t arity) {
  EGRET_RETURN_IF_ERROR(ir::check_arity(op, arity));
  auto attrs = ir::canonical_attrs(op.attrs(), given);
  if (!attrs.ok()) return attrs.status().at(op.name());
  return operation(op, *attrs, arity);
}

OpId TensorLanguage::constant(const ir::Tensor& data, std::string_view name) {
  // Tensors of a forger share a hash, so contents decide, and another one takes the next free key.
  for (base::ContentHash key = data.content_hash();; ++key.low) {
    const auto [found, is_new] = constant_index_.emplace(key, constants_.size());
    if (is_new) constants_.push_back({data, std::string(name)});
    if (is_new || ir::same_contents(constants_[found->second].data, data))
      return table_.op(constant_base_, 0, found->second);
  }
}

OpId TensorLanguage::input(std::string_view name, const ir::TensorType& type) {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].name == name) return table_.op(input_base_, 0, i);
  }
  inputs_.push_back({std::string(name), type});
  return table_.op(input_base_, 0, inputs_.size() - 1);
}

ir::NodeKind TensorLanguage::kind(OpId id) const {
  if (is_constant(id)) return ir::NodeKind::kConstant;
  return is_input(id) ? ir::NodeKind::kInput : ir::NodeKind::kOperator;
}

const ir::Operator& TensorLanguage::op(OpId id) const {
  const std::size_t base_index = table_.base_of(id).index();
  EGRET_CHECK(base_index < operators_.size() && operators_[base_index] != nullptr,
              "a leaf has no operator");
  return *operators_[base_index];
}

const ir::Attrs& TensorLanguage::attrs(OpId id) const { return *attrs_[table_.payload(id)]; }

const ir::Tensor& TensorLanguage::tensor(OpId id) const {
  EGRET_CHECK(is_constant(id));
  return constants_[table_.payload(id)].data;
}

const std::string& TensorLanguage::leaf_name(OpId id) const {
  return is_constant(id) ? constants_[table_.payload(id)].name : inputs_[table_.payload(id)].name;
}

const ir::TensorType& TensorLanguage::input_type(OpId id) const {
  EGRET_CHECK(is_input(id));
  return inputs_[table_.payload(id)].type;
}

std::string TensorLanguage::text(OpId id) const {
  switch (kind(id)) {
    case ir::NodeKind::kInput: return "input(" + leaf_name(id) + ")";
    case ir::NodeKind::kConstant: {
      const std::string& name = leaf_name(id);
      return "constant(" + name + (name.empty() ? "" : " ") + to_string(tensor(id).type()) + ")";
    }
    case ir::NodeKind::kOperator: return op(id).name() + to_string(attrs(id));
  }
  return "?";
}

}  // namespace egret::rules
