// SPDX-License-Identifier: Apache-2.0
// The forms of a denotation's index expressions, each computed once.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "ir/graph/definition.h"
#include "parallel/laws/cut_form.h"
#include "parallel/laws/index_form.h"

namespace egret::parallel {

class IndexForms {
 public:
  // The number of an element whose value is an index (ExprOp::kIndexOf).
  using NumberOf = std::function<int(const ir::ExprNode*)>;
  // `cut` is nullptr where no variable is cut; it and the table outlive the forms.
  IndexForms(const Cut* cut, FormTable& table, NumberOf element);

  // The variable is known by this name from now on. The form of a cut one is that of its place
  // within its block, and moves by the block.
  void bind(const ir::ExprNode* variable, std::int64_t extent, const std::string& name);
  // The reference stays valid. Throws NotCut (index_arithmetic.h).
  const IndexForm& of(const ir::ExprNode* node);

 private:
  IndexForm make(const ir::ExprNode* node);

  const Cut* cut_;
  FormTable& table_;
  NumberOf element_;
  std::unordered_map<const ir::ExprNode*, IndexForm> forms_;
};

}  // namespace egret::parallel
