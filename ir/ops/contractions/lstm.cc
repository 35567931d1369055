// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/recurrent_body.h"

namespace egret::ir::ops {
namespace {

// Gates in the order input, output, forget, cell; peepholes in the order input, output, forget.
//   c' = f(forget) * c + f(input) * g(cell),   h' = f(output) * h(c')
RecurrentState step(const RecurrentDirection& d, Value x, const RecurrentState& before) {
  Body& b = d.b;
  const Value gates = d.sum(x, d.state_product(before.h));
  const auto peephole = [&](int g, Value c) {
    return d.peepholes.valid() ? d.scaled(d.gate(d.peepholes, g), c) : Value{};
  };
  const Value input = d.activated(0, d.sum(d.gate(gates, 0), peephole(0, before.c)));
  Value carried;
  if (before.c.valid()) {
    const Value forget = b.flag("input_forget")
                             ? b("sub", {b.scalar(b.type(input).dtype, 1), input})
                             : d.activated(0, d.sum(d.gate(gates, 2), peephole(2, before.c)));
    carried = b("mul", {forget, before.c});
  }
  const Value fresh = d.activated(1, d.gate(gates, 3));
  const Value c = d.sum(carried, b("mul", {input, fresh}));
  const Value output = d.activated(0, d.sum(d.gate(gates, 1), peephole(1, c)));
  return {.h = b("mul", {output, d.function(2, c)}), .c = c};
}

}  // namespace

Operator lstm() {
  return recurrent_operator(
      "lstm",
      "Long short-term memory (Hochreiter, Schmidhuber 1997), with forget gate and optional "
      "peepholes",
      {.onnx_name = "LSTM",
       .gates = 4,
       .activations = {"sigmoid", "tanh", "tanh"},
       .has_cell_state = true,
       .step = step},
      {"input_forget"});
}

}  // namespace egret::ir::ops
