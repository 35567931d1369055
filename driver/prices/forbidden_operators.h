// SPDX-License-Identifier: Apache-2.0
// Operators that a result must not have: a runtime has no kernel for them, or a bad one. A
// composite that ONNX has no operator for has those of its body, as which it is written. What is
// computed from weights alone does not count, as far as it is folded.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "egraph/core/view.h"
#include "ir/graph/graph.h"
#include "rules/tensors/tensor_egraph.h"

namespace egret::driver {

class ForbiddenOperators {
 public:
  // Errors: usage where no operator is called so.
  static base::Result<ForbiddenOperators> named(std::span<const std::string> names);

  bool empty() const { return operators_.empty(); }
  bool any_in(const ir::Graph& graph) const;
  // SelectionOptions::factors: infinite for a node that computes one of them at run time, otherwise
  // 1. Empty where nothing is forbidden.
  std::vector<double> factors(const rules::TensorEGraph& tensors,
                              const egraph::EGraphView& view) const;
  // "conv, mul"
  std::string names() const;

 private:
  bool contain(const ir::Operator* op) const;
  // Whether it is one of them, or is written as one.
  bool has(const ir::Operator& op, const ir::Attrs& attrs, std::span<const ir::TensorType> inputs,
           const ir::TensorType& output) const;

  std::vector<const ir::Operator*> operators_;
};

}  // namespace egret::driver
