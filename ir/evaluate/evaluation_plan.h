// SPDX-License-Identifier: Apache-2.0
// Evaluation of a denotation by plan, on all threads of the shared pool. The output is cut into
// boxes where guards on one of its variables change (the parts of a concat, the borders of a pad).
// Most guards are then decided before any element is evaluated. Each box has a plan of its own.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "ir/core/tensor.h"
#include "ir/evaluate/contraction.h"
#include "ir/evaluate/interpreter.h"
#include "ir/evaluate/lane_plan.h"
#include "ir/graph/definition.h"

namespace egret::ir {

// The type in which a result that is declared as `type` is stored.
inline DType storage_type(DType type, Precision precision) {
  return precision == Precision::kF64 && is_float(type) ? DType::kF64 : type;
}

// A plan for fixed input shapes; it does not depend on the elements.
struct EvaluationPlan {
  struct Product {
    Contraction contraction;
    LoopNest nest;
  };

  DType type;                        // of the result
  Shape shape{};                     // of the result
  double rounded_terms = 0;          // ir/evaluate/perturbation.h
  std::optional<Product> product{};  // covers the whole output
  std::vector<LanePlan> boxes{};     // empty where there is a product, or nothing to compute
};

// `inputs` are the types of the tensors that will be read; wide reals are allowed. Errors:
// unsupported for denotations without a plan (too many or entangled loops), which
// evaluate_directly() can do.
base::Result<EvaluationPlan> evaluation_plan(const Denotation& denotation,
                                             std::span<const TensorType> inputs, DType result,
                                             Precision precision);

// Errors: those of the interpreter.
base::Result<Tensor> evaluate(const EvaluationPlan& plan, std::span<const Tensor> inputs,
                              const InterpretOptions& options = {});

// Makes the plan and evaluates it.
base::Result<Tensor> evaluate_planned(const Denotation& denotation, std::span<const Tensor> inputs,
                                      DType result, const InterpretOptions& options = {});

}  // namespace egret::ir
