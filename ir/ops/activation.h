// SPDX-License-Identifier: Apache-2.0
// Activations that fused operators apply to their result, by name:
//   none, relu, relu6, sigmoid, tanh, silu, hard_swish, hard_sigmoid (x/6 + 1/2, clipped to [0,
//   1]), leaky_relu (slope 0.01), gelu (by erf).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/body.h"
#include "ir/graph/onnx_binding.h"

namespace egret::ir {

// A fused activation as an operator of its own: `op` with `attrs`.
struct Activation {
  std::string_view name;
  std::string_view op;  // "identity" for none
  Attrs attrs;
};
std::span<const Activation> activations();
std::vector<std::string> activation_names();
const Activation* find_activation(std::string_view name);

// The activation that ONNX Runtime fused into the node: attribute `activation` has the name of an
// ONNX operator (x itself where it is absent), and `number` yields that operator's attributes,
// which are numbered in ONNX's order. Errors: bad_input if one of them is missing; unsupported for
// operators that ONNX Runtime does not fuse.
using ActivationNumber = std::function<std::optional<double>(std::size_t, std::string_view)>;
base::Result<Value> fused_activation(const OnnxNode& node, Value x, const ActivationNumber& number);

// The body of fused_conv and fused_matmul. The core is the operator itself with attribute
// `activation` set to none and without its optional last input, the residual. The body adds the
// residual to the core and applies the activation. `core_inputs` is the number of the core's
// inputs. Returns an invalid value, without error, where attributes and inputs are already those of
// the core.
Value fused_epilogue(Body& b, std::string_view op, int core_inputs);

}  // namespace egret::ir
