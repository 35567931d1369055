// SPDX-License-Identifier: Apache-2.0
// The generic interpreter: evaluates any operator from its denotation and any graph node by node.
// It knows no operator. Composites are evaluated through their body.
//
// What is computed:
//   - Arithmetic on real element types (f32, f64, f16, bf16) is done in f64. In kF64 results are
//     kept in f64 too ("wide": a declared f32 result is not rounded); in kF32 every result is
//     rounded once, when it is stored in its declared type. Sums may be reassociated.
//   - Integers and bools always have their declared type and wrap as two's complement does.
//   - A cast to f16 or bf16 rounds in both precisions, because it is part of the model's meaning; a
//     cast to f32 rounds in kF32 alone. A cast to an integer truncates toward zero, then wraps;
//     NaN becomes 0.
//   - Results do not depend on the number of threads.
//
// Errors: bad_input for inputs of another shape or type, an index that a tensor supplies (gather)
// and that is out of range, and an integer division by zero; limit_hit when should_stop() says so.
//
// How: a denotation is lowered to loop nests (ir/nest/loop_nest.h). Sums of products are evaluated
// as packed matrix products (ir/evaluate/contraction.h), everything else on arrays of lanes
// (ir/evaluate/lane_plan.h). ir/evaluate/direct_evaluation.h evaluates a denotation as the language
// defines it, element by element: the oracle, and the fallback for what has no plan.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "ir/core/attributes.h"
#include "ir/core/real_arithmetic.h"
#include "ir/core/tensor.h"
#include "ir/graph/graph.h"
#include "ir/graph/operator.h"

namespace egret::ir {

class EvaluationMemo;

struct InterpretOptions {
  Precision precision = Precision::kF64;
  // u > 0 multiplies every real element that an operator computes by 1 + u*sqrt(terms)*r, where r
  // is uniform in [-1, 1] and `terms` is the number of terms of its sums (at least 1). A few runs
  // with u = 2^-24 and different seeds show how f32 rounding spreads through a graph (stochastic
  // arithmetic, the CESTAC method: Vignes, "A stochastic arithmetic for reliable scientific
  // computation", Mathematics and Computers in Simulation 35, 1993). Operators that only move,
  // compare or select elements round nothing and are not perturbed. Constants are perturbed by u
  // too, because folding rounds them anew.
  double perturbation = 0;
  // For sums that keep more digits than the stored result: this width replaces `perturbation` as
  // the factor of sqrt(terms). The larger of the two effects counts.
  std::optional<double> sum_perturbation{};
  std::uint64_t seed = 0;
  std::function<bool()>
      should_stop{};               // polled between pieces of work; may be called by any thread
  EvaluationMemo* memo = nullptr;  // where plans are kept, for many evaluations of small tensors
};

// One operator on concrete inputs; `attrs` are canonical. Reals may be wide (f64 for a declared
// f32): in kF64 all real inputs count as one type.
base::Result<Tensor> evaluate(const Operator& op, const Attrs& attrs,
                              std::span<const Tensor> inputs, const InterpretOptions& options = {});

// A whole graph: one tensor for each of graph.inputs(), in that order; the result has one for each
// of graph.outputs(). Symbolic dimensions take their sizes from the inputs. A value is freed after
// its last use.
base::Result<std::vector<Tensor>> interpret(const Graph& graph, std::span<const Tensor> inputs,
                                            const InterpretOptions& options = {});

}  // namespace egret::ir
