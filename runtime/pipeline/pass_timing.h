// SPDX-License-Identifier: Apache-2.0
// A pass of a stage that runs again and again to be timed: on zeros, with what the rank does around
// its plan, but without messages.
#pragma once

#include <map>
#include <vector>

#include "backends/backend.h"
#include "parallel/pipeline/staged_step.h"
#include "runtime/mpi/messages.h"

namespace egret::runtime {

class TimedPass {
 public:
  struct Surroundings {
    bool receives = false;  // values of the boundary before it, or gradients of the one after
    bool sends = false;
    bool adds = false;  // gradients of weights to those of earlier micro-batches
  };
  // STAGE and PLAN, which computes stage.pass(kind), outlive the object.
  TimedPass(const parallel::Stage& stage, parallel::PassKind kind, backends::ExecutablePlan& plan,
            Surroundings around);

  // Errors: those of the plan.
  base::Status run();

 private:
  const parallel::Stage& stage_;
  const parallel::PassKind kind_;
  backends::ExecutablePlan& plan_;
  const Surroundings around_;
  std::map<std::size_t, ir::Tensor> given_;  // by node: what earlier passes left
  MessageBytes arrived_;
  std::vector<ir::Tensor> sums_;  // by parameter of the stage
};

}  // namespace egret::runtime
