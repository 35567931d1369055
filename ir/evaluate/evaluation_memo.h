// SPDX-License-Identifier: Apache-2.0
// A cache of evaluation plans, for callers that evaluate the same operators on the same small
// shapes many times: there planning takes longer than evaluating. Thread-safe.
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
  // The plan of a primitive operator. `inputs` combine the declared element types with the shapes
  // of the actual tensors. Errors: those of the definition and of evaluation_plan(); errors are not
  // cached.
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
