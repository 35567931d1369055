// SPDX-License-Identifier: Apache-2.0
// Plans of evaluation that are made once, for those who evaluate the same operators on the same
// small shapes again and again, where planning takes longer than evaluating. Threads may share one
// memory.
#pragma once

#include <memory>
#include <mutex>
#include <span>

#include "base/status.h"
#include "ir/evaluate/evaluation_plan.h"
#include "ir/graph/call_table.h"

namespace egret::ir {

class EvaluationMemo {
 public:
  // Of a primitive. The types are the declared ones, with the shapes of the tensors at hand.
  // Errors: those of the definition and of evaluation_plan(); none is kept.
  base::Result<std::shared_ptr<const EvaluationPlan>> plan(const Operator& op, const Attrs& attrs,
                                                           std::span<const TensorType> inputs,
                                                           Precision precision);

 private:
  using Plans = CallTable<std::shared_ptr<const EvaluationPlan>>;
  static constexpr std::size_t kMostPlans = 4096;

  std::mutex mutex_;
  Plans wide_{kMostPlans};    // kF64
  Plans narrow_{kMostPlans};  // kF32
};

}  // namespace egret::ir
