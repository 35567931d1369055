// SPDX-License-Identifier: Apache-2.0
// Rules whose right side is computed by a program. They cover what the rule language cannot
// express, because the number of operands varies or because an operator's definition determines the
// right side. Each is one function and one row.
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
  // One compiled rule per shape of pattern; all have the row's name.
  std::vector<CompiledRule> (*make)(TensorEGraph& tensors);
};

std::span<const DynamicRule> dynamic_rules();

// Adds the operators of `body` to the e-graph, with the given classes as its inputs. Returns the
// class of its first output.
base::Result<egraph::ClassId> add_body(TensorEGraph& tensors, const ir::Graph& body,
                                       std::span<const egraph::ClassId> inputs);

}  // namespace egret::rules
