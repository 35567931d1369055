// SPDX-License-Identifier: Apache-2.0
#include "ir/evaluate/evaluation_memo.h"

#include "ir/evaluate/graph_evaluation.h"

namespace egret::ir {

base::Result<std::shared_ptr<const EvaluationProgram>> EvaluationMemo::plan(
    const Operator& op, const Attrs& attrs, std::span<const TensorType> inputs,
    Precision precision) {
  Plans& plans = precision == Precision::kF64 ? wide_ : narrow_;
  const Call call{op, attrs, inputs};
  {
    const std::lock_guard lock(mutex_);
    if (const auto* known = plans.find(call)) return *known;
  }
  // The plan is made outside of the lock. Two threads may make the same one; the first insertion
  // stays.
  EGRET_ASSIGN_OR_RETURN(const Denotation denotation, denote_concrete(op, attrs, inputs));
  const DType result = storage_type(denotation.type.dtype, precision);
  EGRET_ASSIGN_OR_RETURN(EvaluationProgram made,
                         evaluation_plan(denotation, inputs, result, precision));
  auto plan = std::make_shared<const EvaluationProgram>(std::move(made));
  const std::lock_guard lock(mutex_);
  if (plans.find(call) == nullptr) plans.insert(call, plan);
  return plan;
}

}  // namespace egret::ir
