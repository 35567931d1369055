// SPDX-License-Identifier: Apache-2.0
// The common body of lstm, gru and rnn: composites over a sequence of known length, unrolled. One
// matrix product over the whole sequence computes the input's share of all gates; a step adds the
// state's share.
//
//   x [T, B, I]   w [D, G*H, I]   r [D, G*H, H]        D directions, G gates, H hidden
//   then those named by attribute `extras`, in this order, where they are given:
//   bias [D, 2*G*H]   lengths [B]   initial_h, initial_c [D, B, H]   peepholes [D, 3*H]
//
// One operator yields one of the ONNX operator's outputs, chosen by attribute `output`:
//   y [T, D, B, H]   y_h [D, B, H]   y_c [D, B, H]
// Elements past a sequence's length are 0 in y, and y_h and y_c are the states at its length.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/body.h"
#include "ir/graph/operator.h"

namespace egret::ir {

// The state of a step. An invalid value stands for 0, as before the first step.
struct RecurrentState {
  Value h{};
  Value c{};
};

// The context of a step of one direction. Rows of w, r and bias are G blocks of H, one for each
// gate.
class RecurrentDirection {
 public:
  RecurrentDirection(Body& body, std::int64_t hidden_size, std::vector<std::string> activations)
      : b(body), hidden(hidden_size), activations_(std::move(activations)) {}

  Body& b;
  std::int64_t hidden;
  Value r_transposed{};    // [H, G*H]
  Value recurrent_bias{};  // [1, G*H], only where the cell keeps it apart
  Value peepholes{};       // [1, 3*H], may be invalid

  // Block g of the last axis, `count` gates wide.
  Value gate(Value gates, int g, int count = 1) const;
  // Activation k of this direction, on gates after clipping.
  Value activated(int k, Value gate) const;
  Value function(int k, Value value) const;  // without clipping
  // a + b, a * b where an invalid value is 0.
  Value sum(Value a, Value c) const;
  Value scaled(Value a, Value c) const;
  Value state_product(Value h) const;  // h r^T, invalid for an invalid h

 private:
  std::vector<std::string> activations_;
};

struct RecurrentCell {
  std::string onnx_name;
  int gates;
  // The default activations of a direction, as Egret names them.
  std::vector<std::string> activations;
  bool has_cell_state = false;
  // Whether the state's bias stays separate (otherwise it is added to the input's).
  std::function<bool(const Body&)> recurrent_bias_apart{};
  // The next state; `x` [B, G*H] is the input's share of the gates.
  std::function<RecurrentState(const RecurrentDirection&, Value x, const RecurrentState&)> step;
};

// The operator `name`. `flags` names the attributes that its cell adds (ONNX and Egret names agree;
// integers, default 0).
Operator recurrent_operator(std::string name, std::string doc, RecurrentCell cell,
                            std::vector<std::string> flags);

}  // namespace egret::ir
