// SPDX-License-Identifier: Apache-2.0
// Values of some inputs of a graph, in place of random ones.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "base/status.h"
#include "ir/core/tensor.h"
#include "ir/graph/graph.h"

namespace egret::ir {

using GivenInputs = std::map<std::string, Tensor>;  // by the input's name

// Those that the graph has an input of the same type for, by its position in graph.inputs(). For
// other sizes than the given ones, an input of an open size has none.
std::map<std::size_t, Tensor> given_by_position(const Graph& graph, const GivenInputs& given);
// Puts them in the place of `inputs`, one each of graph.inputs().
void put_given(const Graph& graph, const GivenInputs& given, std::span<Tensor> inputs);
// That all of them have a place. Errors: bad_input that names one that has none, and both types.
base::Status check_given(const Graph& graph, const GivenInputs& given);

}  // namespace egret::ir
