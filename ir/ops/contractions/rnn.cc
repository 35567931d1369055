// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/recurrent_body.h"

namespace egret::ir::ops {

Operator rnn() {
  RecurrentCell cell{.onnx_name = "RNN", .gates = 1, .activations = {"tanh"}, .step = {}};
  cell.step = [](const RecurrentDirection& d, Value x, const RecurrentState& before) {
    return RecurrentState{.h = d.activated(0, d.sum(x, d.state_product(before.h)))};
  };
  return recurrent_operator("rnn", "Simple recurrence: h' = f(x w^T + h r^T + bias)",
                            std::move(cell), {});
}

}  // namespace egret::ir::ops
