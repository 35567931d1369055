// SPDX-License-Identifier: Apache-2.0
// Conditions by number: those that hold, or fail, wherever the cut variable is are true or false.
#pragma once

#include "ir/graph/definition.h"
#include "parallel/laws/form_table.h"
#include "parallel/laws/index_form.h"

namespace egret::parallel {

int truth(FormTable& table, bool value);
// left <= right (ExprOp::kIndexLe) or left == right (kIndexEq). Throws NotCut where the difference
// moves and the condition does not hold, or fail, on all blocks.
int comparison_form(FormTable& table, ir::ExprOp op, const IndexForm& left, const IndexForm& right);
int negation_form(FormTable& table, int a);
// ExprOp::kAnd or kOr.
int joined_form(FormTable& table, ir::ExprOp op, int a, int b);

}  // namespace egret::parallel
