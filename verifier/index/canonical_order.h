// SPDX-License-Identifier: Apache-2.0
// An order of index expressions that depends on their structure alone. Nodes of the symbol pool are
// ordered by age, which depends on what a process did before.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "ir/core/denotation.h"

namespace egret::verifier {

class CanonicalOrder {
 public:
  // Equal for equal expressions up to the order of commutative operands. Longer than the keys of
  // all parts.
  const std::string& key(const ir::ExprNode& node);
  // The operands; those of a commutative operation in the order of their keys.
  std::vector<const ir::ExprNode*> operands(const ir::ExprNode& node);
  // All quotients, remainders, minima and maxima in the guards, parts first.
  std::vector<const ir::ExprNode*> composites(std::span<const ir::Guard> guards);

 private:
  std::map<const ir::ExprNode*, std::string> keys_;
};

}  // namespace egret::verifier
