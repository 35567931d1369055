// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/recurrent_body.h"

namespace egret::ir::ops {
namespace {

// Gates in the order update z, reset s, candidate n:
//   h' = (1 - z) * n + z * h,   n = g(x_n + (s * h) r_n^T)   or, with linear_before_reset,
//                               n = g(x_n + s * (h r_n^T + bias))
RecurrentState step(const RecurrentDirection& d, Value x, const RecurrentState& before) {
  Body& b = d.b;
  const bool linear_first = b.flag("linear_before_reset");
  const Value h = before.h;
  Value gates = d.gate(x, 0, 2);
  Value candidate = d.gate(x, 2);
  if (linear_first) {
    const Value of_state = d.sum(d.state_product(h), d.recurrent_bias);
    if (of_state.valid()) gates = b("add", {gates, d.gate(of_state, 0, 2)});
    const Value reset = d.activated(0, d.gate(gates, 1));
    if (of_state.valid()) candidate = d.sum(candidate, d.scaled(reset, d.gate(of_state, 2)));
  } else if (h.valid()) {
    gates = b("add", {gates, b("matmul", {h, d.gate(d.r_transposed, 0, 2)})});
    const Value reset = d.activated(0, d.gate(gates, 1));
    candidate =
        b("add", {candidate, b("matmul", {b("mul", {reset, h}), d.gate(d.r_transposed, 2)})});
  }
  const Value update = d.activated(0, d.gate(gates, 0));
  const Value fresh = d.activated(1, candidate);
  const Value kept = b("sub", {b.scalar(b.type(update).dtype, 1), update});
  return {.h = d.sum(b("mul", {kept, fresh}), d.scaled(update, h))};
}

}  // namespace

Operator gru() {
  return recurrent_operator(
      "gru", "Gated recurrent unit (Cho et al. 2014): update, reset and candidate gates",
      {.onnx_name = "GRU",
       .gates = 3,
       .activations = {"sigmoid", "tanh"},
       .recurrent_bias_apart = [](const Body& b) { return b.flag("linear_before_reset"); },
       .step = step},
      {"linear_before_reset"});
}

}  // namespace egret::ir::ops
