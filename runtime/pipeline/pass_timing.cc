// SPDX-License-Identifier: Apache-2.0
#include "runtime/pipeline/pass_timing.h"

#include <utility>

#include "runtime/pipeline/tensor_bytes.h"

namespace egret::runtime {

using parallel::PassKind;

// Zeros: indices of a gather must lie in their axis.
TimedPass::TimedPass(const parallel::Stage& stage, PassKind kind, PassProgram& program,
                     Surroundings around)
    : stage_(stage),
      kind_(kind),
      program_(program),
      around_(around),
      sums_(stage.parameters.size()) {
  for (const BoundarySide* side : {around.received, around.sent}) {
    for (std::size_t i = 0; side != nullptr && i < side->nodes.size(); ++i)
      given_.insert_or_assign(side->nodes[i], ir::Tensor(side->types[i]));
  }
  const std::vector<std::size_t>& inputs = stage.pass(kind).inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    given_.insert_or_assign(inputs[i], ir::Tensor(program.input_types()[i]));
  if (around.received == nullptr) return;
  for (const BoundaryMessage& message : around.received->messages)
    arrived_.emplace_back(static_cast<std::size_t>(message.bytes));
}

base::Status TimedPass::run() {
  std::map<std::size_t, ir::Tensor> values = given_;
  if (around_.received != nullptr) {
    const BoundarySide& side = *around_.received;
    std::vector<ir::Tensor> shares;
    for (const ir::TensorType& type : side.types) shares.push_back(ir::Tensor::unfilled(type));
    for (std::size_t i = 0; i < arrived_.size(); ++i)
      EGRET_RETURN_IF_ERROR(unpack(side.messages[i], arrived_[i], shares));
    for (std::size_t i = 0; i < shares.size(); ++i) values[side.nodes[i]] = std::move(shares[i]);
  }
  const parallel::StagePass& pass = stage_.pass(kind_);
  std::vector<ir::Tensor> inputs;
  for (const std::size_t node : pass.inputs) inputs.push_back(values.at(node));
  EGRET_ASSIGN_OR_RETURN(std::vector<ir::Tensor> outputs, program_.run(inputs));
  for (std::size_t i = 0; i < outputs.size(); ++i) values[pass.outputs[i]] = std::move(outputs[i]);
  if (around_.sent != nullptr) {
    const auto share = [&](std::size_t i) { return values.at(around_.sent->nodes[i]); };
    for (const BoundaryMessage& message : around_.sent->messages) packed(message, share);
  }
  for (std::size_t p = 0; p < sums_.size() && around_.adds; ++p) {
    const auto gradient = values.find(stage_.parameters[p].gradient);
    if (gradient != values.end()) add_to(sums_[p], gradient->second);
  }
  return base::ok();
}

}  // namespace egret::runtime
