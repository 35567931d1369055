// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/activation.h"

#include <algorithm>

namespace egret::ir {

std::span<const Activation> activations() {
  static const auto* const table = new std::vector<Activation>{
      {"none", "identity", {}},
      {"relu", "relu", {}},
      {"relu6", "clip", {{"min", 0.0}, {"max", 6.0}}},
      {"sigmoid", "sigmoid", {}},
      {"tanh", "tanh", {}},
      {"silu", "silu", {}},
      {"hard_swish", "hard_swish", {}},
      {"hard_sigmoid", "hard_sigmoid", {{"alpha", double{1.0F / 6.0F}}, {"beta", 0.5}}},
      {"leaky_relu", "leaky_relu", {{"alpha", double{0.01F}}}},
      {"gelu", "gelu", {{"approximate", std::string("none")}}},
  };
  return *table;
}

std::vector<std::string> activation_names() {
  std::vector<std::string> names;
  for (const Activation& each : activations()) names.emplace_back(each.name);
  return names;
}

const Activation* find_activation(std::string_view name) {
  const auto found = std::ranges::find(activations(), name, &Activation::name);
  return found != activations().end() ? &*found : nullptr;
}

namespace {

struct OnnxActivation {
  std::string_view onnx;
  std::string_view op;
  std::vector<std::string_view> numbers{};
};

const std::vector<OnnxActivation>& onnx_activations() {
  static const auto* const table = new std::vector<OnnxActivation>{
      {"Relu", "relu"},
      {"Sigmoid", "sigmoid"},
      {"Tanh", "tanh"},
      {"Softplus", "softplus"},
      {"Softsign", "softsign"},
      {"LeakyRelu", "leaky_relu", {"alpha"}},
      {"Elu", "elu", {"alpha"}},
      {"ThresholdedRelu", "thresholded_relu", {"alpha"}},
      {"Clip", "clip", {"min", "max"}},
      {"HardSigmoid", "hard_sigmoid", {"alpha", "beta"}},
      {"Selu", "selu", {"alpha", "gamma"}},
  };
  return *table;
}

}  // namespace

base::Result<Value> fused_activation(const OnnxNode& node, Value x,
                                     const ActivationNumber& number) {
  const std::string name = node.text("activation", "");
  if (name.empty()) return x;
  const auto found = std::ranges::find(onnx_activations(), name, &OnnxActivation::onnx);
  if (found == onnx_activations().end())
    return base::unsupported("there is no activation '" + name.substr(0, 80) + "'");
  Attrs attrs;
  for (std::size_t i = 0; i < found->numbers.size(); ++i) {
    const auto given = number(i, found->numbers[i]);
    if (!given) {
      return base::bad_input("number '" + std::string(found->numbers[i]) + "' of activation " +
                             name + " is missing");
    }
    attrs.set(found->numbers[i], *given);
  }
  return node.builder().add(found->op, {x}, std::move(attrs));
}

// The operator without its activation, then the residual, then the activation. Nothing where it has
// neither: the caller then builds the core.
Value fused_epilogue(Body& b, std::string_view op, int core_inputs) {
  const Activation* activation = find_activation(b.text("activation"));
  if (activation == nullptr) {
    return b.fail("there is no activation '" + b.text("activation") + "'");
  }
  const bool has_residual = b.input_count() > core_inputs;
  if (activation->name == "none" && !has_residual) return {};

  Attrs core = b.attrs();
  core.set("activation", std::string("none"));
  std::vector<Value> inputs;
  for (int i = 0; i < core_inputs; ++i) inputs.push_back(b.input(i));
  Value result = b.builder().add(op, inputs, core);
  const TensorType type = b.type(result);
  if (has_residual) {
    result = b("add", {result, b.input(core_inputs)});
    if (b.builder().ok() && !(b.type(result) == type)) {
      return b.fail("the residual " + to_string(b.type(b.input(core_inputs))) +
                    " does not broadcast to " + to_string(type));
    }
  }
  return activation->name == "none" ? result : b(activation->op, {result}, activation->attrs);
}

}  // namespace egret::ir
