// SPDX-License-Identifier: Apache-2.0
#include "ir/evaluate/given_inputs.h"

#include <algorithm>

namespace egret::ir {

std::map<std::size_t, Tensor> given_by_position(const Graph& graph, const GivenInputs& given) {
  std::map<std::size_t, Tensor> placed;
  for (std::size_t i = 0; i < graph.inputs().size() && !given.empty(); ++i) {
    const Node& input = graph.node(graph.inputs()[i]);
    const auto found = given.find(input.name);
    if (found != given.end() && found->second.type() == input.type)
      placed.emplace(i, found->second);
  }
  return placed;
}

void put_given(const Graph& graph, const GivenInputs& given, std::span<Tensor> inputs) {
  for (const auto& [position, tensor] : given_by_position(graph, given)) inputs[position] = tensor;
}

base::Status check_given(const Graph& graph, const GivenInputs& given) {
  for (const auto& [name, tensor] : given) {
    const auto named = [&graph, &name = name](NodeId id) { return graph.node(id).name == name; };
    const auto found = std::ranges::find_if(graph.inputs(), named);
    if (found == graph.inputs().end())
      return base::bad_input("the model has no input '" + name + "'");
    const TensorType& type = graph.node(*found).type;
    if (!(type == tensor.type())) {
      return base::bad_input("the given input '" + name + "' is " + to_string(tensor.type()) +
                             ", the model takes " + to_string(type));
    }
  }
  return base::ok();
}

}  // namespace egret::ir
