// SPDX-License-Identifier: Apache-2.0
// Rules whose right side is a program: what the rule language cannot say because the number of
// operands varies, or because it comes from an operator's definition. One function and one row
// each.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "rules/tensors/saturate.h"
#include "rules/tensors/tensor_egraph.h"

namespace egret::rules {

struct DynamicRule {
  std::string_view name;
  std::string_view help;
  bool starter;  // part of the selections `default` and `starter`
  // One compiled rule for each shape of pattern; all carry the row's name.
  std::vector<CompiledRule> (*make)(TensorEGraph& tensors);
};

std::span<const DynamicRule> dynamic_rules();

// Adds a program's operators to the e-graph; its inputs are the classes given. The class of its
// first output.
base::Result<egraph::ClassId> add_body(TensorEGraph& tensors, const ir::Graph& body,
                                       std::span<const egraph::ClassId> inputs);

}  // namespace egret::rules
