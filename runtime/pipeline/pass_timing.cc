// SPDX-License-Identifier: Apache-2.0
#include "runtime/pipeline/pass_timing.h"

#include <utility>

#include "runtime/pipeline/tensor_bytes.h"

namespace egret::runtime {

using parallel::BoundaryValue;
using parallel::PassKind;

// Zeros: indices of a gather must lie in their axis.
TimedPass::TimedPass(const parallel::Stage& stage, PassKind kind, backends::ExecutablePlan& plan,
                     Surroundings around)
    : stage_(stage),
      kind_(kind),
      plan_(plan),
      around_(around),
      given_(stage.constants),
      sums_(stage.parameters.size()) {
  for (const std::vector<BoundaryValue>* boundary : {&stage.incoming, &stage.outgoing}) {
    for (const BoundaryValue& crossing : *boundary) {
      given_.try_emplace(crossing.value, ir::Tensor(crossing.type));
      if (crossing.gradient) given_.try_emplace(*crossing.gradient, ir::Tensor(crossing.type));
    }
  }
  const std::vector<std::size_t>& inputs = stage.pass(kind).inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    given_.insert_or_assign(inputs[i], ir::Tensor(plan.input_types()[i]));
  if (!around.receives) return;
  for (const BoundaryValue& crossing :
       kind == PassKind::kForward ? stage.incoming : stage.outgoing) {
    if (kind == PassKind::kForward || crossing.gradient)
      arrived_.resize(arrived_.size() + static_cast<std::size_t>(crossing.type.bytes()));
  }
}

base::Status TimedPass::run() {
  const bool forward = kind_ == PassKind::kForward;
  std::map<std::size_t, ir::Tensor> values = given_;
  if (around_.receives) {
    EGRET_RETURN_IF_ERROR(
        read_values(arrived_, forward ? stage_.incoming : stage_.outgoing, !forward, values));
  }
  const parallel::StagePass& pass = stage_.pass(kind_);
  std::vector<ir::Tensor> inputs;
  for (const std::size_t node : pass.inputs) inputs.push_back(values.at(node));
  EGRET_ASSIGN_OR_RETURN(std::vector<ir::Tensor> outputs, plan_.run(inputs));
  for (std::size_t i = 0; i < outputs.size(); ++i) values[pass.outputs[i]] = std::move(outputs[i]);
  if (around_.sends) {
    MessageBytes bytes;
    for (const BoundaryValue& crossing : forward ? stage_.outgoing : stage_.incoming) {
      if (!forward && !crossing.gradient) continue;
      const ir::Tensor& tensor = values.at(forward ? crossing.value : *crossing.gradient);
      bytes.insert(bytes.end(), tensor.data().begin(), tensor.data().end());
    }
  }
  for (std::size_t p = 0; p < sums_.size() && around_.adds; ++p) {
    const auto gradient = values.find(stage_.parameters[p].gradient);
    if (gradient != values.end()) add_to(sums_[p], gradient->second);
  }
  return base::ok();
}

}  // namespace egret::runtime
