// SPDX-License-Identifier: Apache-2.0
#include "parallel/laws/index_forms.h"

#include <utility>

#include "parallel/laws/index_arithmetic.h"

namespace egret::parallel {

using ir::ExprNode;
using ir::ExprOp;

IndexForms::IndexForms(const Cut* cut, FormTable& table, NumberOf element)
    : cut_(cut), table_(table), element_(std::move(element)) {}

// The cut variable is a local part plus r times the block, where r is the device's number. `local`
// bounds the part and `global` the whole variable. A block of one row leaves no local variable.
void IndexForms::bind(const ExprNode* variable, std::int64_t extent, const std::string& name) {
  IndexForm form;
  form.global = {0, extent - 1};
  form.local = form.global;
  if (cut_ != nullptr && cut_->variable == variable) {
    const std::int64_t block = cut_->extent / cut_->parts;
    form.local = {0, block - 1};
    form.moves = block;
  }
  if (form.local.low != form.local.high) form.sum.factors[table_.intern(name)] = 1;
  forms_[variable] = form;
}

const IndexForm& IndexForms::of(const ExprNode* node) {
  const auto known = forms_.find(node);
  if (known != forms_.end()) return known->second;
  IndexForm form = make(node);
  // An expression of one value is that number.
  if (form.local.low == form.local.high && form.local.within(-kFar + 1, kFar - 1))
    form.sum = {form.local.low, {}};
  return forms_[node] = form;
}

IndexForm IndexForms::make(const ExprNode* node) {
  if (node->op == ExprOp::kIndexConst) return constant_form(node->integer);
  // An index that is an element of a tensor: unknown, but equal elements give equal atoms.
  if (node->op == ExprOp::kIndexOf)
    return atom_form(table_, "i" + std::to_string(element_(node->kids[0])), {}, {});
  const auto operand = [&](std::size_t i) -> const IndexForm& { return of(node->kids[i]); };
  switch (node->op) {
    case ExprOp::kIndexAdd: return sum_form(operand(0), operand(1));
    case ExprOp::kIndexMul: return product_form(table_, operand(0), operand(1));
    case ExprOp::kIndexDiv: return quotient_form(table_, operand(0), operand(1));
    case ExprOp::kIndexMod: return remainder_form(table_, operand(0), operand(1));
    case ExprOp::kIndexMin: return minimum_form(table_, operand(0), operand(1));
    case ExprOp::kIndexMax: return maximum_form(table_, operand(0), operand(1));
    default: throw NotCut{};  // a symbol, or a variable outside of its reduction
  }
}

}  // namespace egret::parallel
