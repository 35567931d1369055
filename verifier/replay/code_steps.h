// SPDX-License-Identifier: Apache-2.0
// Steps of certificates that no rule of the rule language states: their right side depends on a
// number of operands or on an operator's definition. The search makes them by code
// (rules/tensors/dynamic_rules.h). This code is another one; it recomputes each step.
//
//   expand-composites             a composite operator is its body, which is built again
//   concat-nest, concat-flatten   nested concatenations along one axis join the same operands
//   transpose-into-elementwise    transpose(f(x, y)) = f(transpose(x), transpose(y)), where the
//                                 definition of f shows that it is elementwise
//   transpose-out-of-elementwise  f(transpose(x), y) = transpose(f(x, y')), where y' is y under the
//                                 inverse permutation
//   transpose-into-resize         transpose(resize(x)) = resize(transpose(x)), along the same axis
#pragma once

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "verifier/replay/replay_terms.h"

namespace egret::verifier {

class CodeSteps {
 public:
  explicit CodeSteps(ReplayTerms& terms) : terms_(terms) {}

  // Whether there are steps of that name.
  static bool has(std::string_view name);
  // Errors: mismatch for a step that does not follow, with the reason.
  base::Status check(std::string_view name, TermRef left, TermRef right);
  // The body of a composite operator, applied to the operands. Errors: bad_input for other terms.
  base::Result<TermRef> expanded(TermRef composite);

 private:
  struct Row;
  static const Row* find(std::string_view name);
  base::Status expansion(TermRef left, TermRef right);
  base::Status concatenation(TermRef left, TermRef right);
  base::Status transpose_into(TermRef left, TermRef right);
  base::Status transpose_out(TermRef left, TermRef right);
  base::Status transpose_into_resize(TermRef left, TermRef right);

  std::vector<TermRef> parts_of(TermRef concat) const;
  base::Result<TermRef> apply(std::string_view op, const ir::Attrs& attrs, TermRef operand);
  base::Result<TermRef> permuted(TermRef x, const ir::Integers& perm);
  bool is_elementwise(TermRef application);

  ReplayTerms& terms_;
  std::map<std::pair<SymbolRef, std::vector<ir::DType>>, bool> elementwise_;
};

}  // namespace egret::verifier
