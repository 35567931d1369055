// SPDX-License-Identifier: Apache-2.0
// Parts of an ONNX model as models of their own.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace egret::onnx {
class ModelProto;
class TensorProto;
class ValueInfoProto;
}  // namespace egret::onnx

namespace egret::frontends {

// What is known of the values of a model, by name.
struct ValueFacts {
  std::map<std::string, onnx::ValueInfoProto> types;
  std::map<std::string, onnx::TensorProto> constants;  // values that do not depend on inputs

  ValueFacts();
  ~ValueFacts();
  ValueFacts(ValueFacts&&) noexcept;
  ValueFacts& operator=(ValueFacts&&) noexcept;
};

// The model with these nodes alone (ascending positions). A value of another node becomes a
// constant, where it is known to be one, or else an input. Outputs are those of the model that the
// nodes compute, and values that other nodes read. nullopt: nothing would be computed, or the type
// of a new input is unknown. Linear in the model.
std::optional<onnx::ModelProto> submodel(const onnx::ModelProto& model,
                                         const std::vector<std::size_t>& nodes,
                                         const ValueFacts& facts);

// The model with these of its outputs alone, and what they need.
onnx::ModelProto with_outputs(const onnx::ModelProto& model,
                              const std::vector<std::size_t>& outputs);

// Drops nodes that no output needs, and inputs, initializers, functions and stated types that no
// node uses. Inputs of the graph that are outputs as well stay.
void drop_unused(onnx::ModelProto& model);

}  // namespace egret::frontends
