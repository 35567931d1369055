// SPDX-License-Identifier: Apache-2.0
// A pass of a stage that runs again and again to be timed: on zeros, with what the rank does around
// its program, but without messages between stages. Ranks that share a stage run it together.
#pragma once

#include <map>
#include <vector>

#include "parallel/pipeline/staged_step.h"
#include "runtime/mpi/messages.h"
#include "runtime/pipeline/boundary_messages.h"
#include "runtime/pipeline/pass_program.h"

namespace egret::runtime {

class TimedPass {
 public:
  struct Surroundings {
    const BoundarySide* received = nullptr;  // null: nothing
    const BoundarySide* sent = nullptr;
    bool adds = false;  // gradients of weights to those of earlier micro-batches
  };
  // What the arguments name, and PROGRAM, which computes stage.pass(kind), outlive the object.
  TimedPass(const parallel::Stage& stage, parallel::PassKind kind, PassProgram& program,
            Surroundings around);

  // Errors: those of the program.
  base::Status run();

 private:
  const parallel::Stage& stage_;
  const parallel::PassKind kind_;
  PassProgram& program_;
  const Surroundings around_;
  std::map<std::size_t, ir::Tensor> given_;  // by node: what earlier passes left
  std::vector<MessageBytes> arrived_;
  std::vector<ir::Tensor> sums_;  // by parameter of the stage
};

}  // namespace egret::runtime
