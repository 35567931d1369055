// SPDX-License-Identifier: Apache-2.0
// The default distributions of a graph's inputs: values on which the graph is defined.
//
// The default draws (numbers in [-1, 1), integers in [0, 10]) are not valid everywhere: a variance
// is not negative, a divisor not 0. The definitions of the operators that read an input tell its
// valid values: the argument of a root is not negative, an integer divisor is not 0. Such demands
// are traced back through operators that are linear in the input with constants beside it, and
// through operators that only move elements. A branch that values choose puts no demand on reals,
// so that random inputs still reach both branches.
//
// A model may set more in its metadata; `egret grad` records the ranges of parameters there:
//     egret.inputs = {"weight": [-0.05, 0.05], "labels": [0, 999]}
// Names that the model lacks, and entries that are not a pair of finite numbers, are ignored.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "ir/core/draw.h"
#include "ir/graph/graph.h"

namespace egret::ir {

// One draw for each of graph.inputs(); the usual draw where demands contradict each other. Linear
// in the nodes near the inputs and their definitions.
std::vector<Draw> input_draws(const Graph& graph);

// Options for inputs with the usual draw.
struct DrawOptions {
  double beyond = 0;          // share of reals drawn from [-8, 8), which clips and saturates
  bool any_integers = false;  // any sign, full range for 8 bits; indices may be invalid
  double scale = 1;           // of reals
};
// Types must be concrete.
std::vector<Tensor> random_inputs(const Graph& graph, base::Random& random,
                                  const DrawOptions& options = {});

// The metadata key of the ranges of inputs.
inline constexpr std::string_view kDrawsKey = "egret.inputs";
// Adds ranges to those in the metadata, or replaces them.
void add_draws(Graph& graph, const std::map<std::string, Draw>& draws);
std::string draws_text(const std::map<std::string, Draw>& draws);

}  // namespace egret::ir
