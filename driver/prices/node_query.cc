// SPDX-License-Identifier: Apache-2.0
#include "driver/prices/node_query.h"

namespace egret::driver {
namespace {

std::vector<egraph::ClassId> children_of(const egraph::EGraphView& view,
                                         egraph::EGraphView::Index node) {
  std::vector<egraph::ClassId> children;
  for (const egraph::EGraphView::Index child : view.children_of(node))
    children.push_back(view.class_id[child]);
  return children;
}

}  // namespace

NodeQuery::NodeQuery(const rules::TensorEGraph& tensors, const egraph::EGraphView& view,
                     egraph::EGraphView::Index node, std::size_t profile)
    : NodeQuery(tensors, view.node_op[node], children_of(view, node),
                view.class_id[view.node_class[node]], profile) {}

NodeQuery::NodeQuery(const rules::TensorEGraph& tensors, egraph::OpId op,
                     std::span<const egraph::ClassId> children, egraph::ClassId of,
                     std::size_t profile) {
  const rules::TensorLanguage& language = tensors.language();
  // A range up to an open size depends on no input, but is computed in each run.
  const auto is_fixed = [&](egraph::ClassId id) {
    return tensors.is_constant(id) && tensors.type(id).is_concrete();
  };
  free_ = language.kind(op) != ir::NodeKind::kOperator || is_fixed(of);
  if (language.kind(op) != ir::NodeKind::kOperator) return;
  free_ = free_ || language.op(op).is_opaque();  // every equal graph has it
  constant_ = std::make_unique<bool[]>(children.size());
  for (std::size_t i = 0; i < children.size(); ++i) {
    const rules::TensorFacts& facts = tensors.facts(children[i]);
    types_.push_back(facts.type);
    constant_[i] = is_fixed(children[i]);
  }
  query_.op = &language.op(op);
  query_.attrs = &language.attrs(op);
  query_.inputs = types_;
  query_.constant = {constant_.get(), children.size()};
  query_.output = &tensors.type(of);
  if (const rules::OpenSizes* open = tensors.open_sizes())
    set_sizes(open->profiles()[profile].sizes);
}

// A price needs numbers: open sizes are replaced by those of one profile.
void NodeQuery::set_sizes(const ir::SymbolValues& sizes) {
  for (ir::TensorType& type : types_) type = rules::at_sizes(type, sizes);
  output_ = rules::at_sizes(*query_.output, sizes);
  attrs_ = rules::at_sizes(*query_.attrs, sizes);
  query_.inputs = types_;
  query_.output = &output_;
  query_.attrs = &attrs_;
}

}  // namespace egret::driver
