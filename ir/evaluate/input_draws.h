// SPDX-License-Identifier: Apache-2.0
// What a graph's inputs are drawn from where nothing is given: values on which it is defined.
//
// Numbers in [-1, 1) are no variances, and integers in [0, 10] no divisors. What an input must be
// follows from the definitions of the operators that read it: the argument of a root is not
// negative, an integer divisor not 0. Such demands are traced back through what is linear in the
// input with constants beside it, and through what only moves elements. What stands in a branch
// that values choose demands nothing of reals, so that both branches are still taken.
//
// A model may say more in its metadata, where `egret grad` says what values parameters have:
//     egret.inputs = {"weight": [-0.05, 0.05], "labels": [0, 999]}
// Bounds of inputs it does not have, and what else is no pair of finite numbers, are ignored.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "ir/core/draw.h"
#include "ir/graph/graph.h"

namespace egret::ir {

// One for each of graph.inputs(). Where demands contradict each other the usual one. Linear in the
// nodes near the inputs and their definitions.
std::vector<Draw> input_draws(const Graph& graph);

// Of inputs that are drawn as usual.
struct DrawOptions {
  double beyond = 0;          // this share of reals is in [-8, 8): beyond what clips and saturates
  bool any_integers = false;  // of either sign, those of 8 bits any: no rows of a table, maybe
};
// Types must be concrete.
std::vector<Tensor> random_inputs(const Graph& graph, base::Random& random,
                                  const DrawOptions& options = {});

// The metadata that says where inputs are drawn from.
inline constexpr std::string_view kDrawsKey = "egret.inputs";
std::string draws_text(const std::map<std::string, Draw>& draws);

}  // namespace egret::ir
