// SPDX-License-Identifier: Apache-2.0
#include "driver/node_query.h"

namespace egret::driver {

NodeQuery::NodeQuery(const rules::TensorEGraph& tensors, egraph::OpId op,
                     std::span<const egraph::ClassId> children, egraph::ClassId of) {
  const rules::TensorLanguage& language = tensors.language();
  free_ = language.kind(op) != ir::NodeKind::kOperator || tensors.is_constant(of);
  if (language.kind(op) != ir::NodeKind::kOperator) return;
  constant_ = std::make_unique<bool[]>(children.size());
  for (std::size_t i = 0; i < children.size(); ++i) {
    const rules::TensorFacts& facts = tensors.facts(children[i]);
    types_.push_back(facts.type);
    constant_[i] = facts.constant;
  }
  query_.op = &language.op(op);
  query_.attrs = &language.attrs(op);
  query_.inputs = types_;
  query_.constant = {constant_.get(), children.size()};
  query_.output = &tensors.type(of);
}

}  // namespace egret::driver
