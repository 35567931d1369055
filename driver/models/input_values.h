// SPDX-License-Identifier: Apache-2.0
// Values for a model's inputs, from files or from memory.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/options/option_table.h"
#include "base/status.h"
#include "driver/models/read_model.h"
#include "frontends/onnx.h"
#include "ir/evaluate/given_inputs.h"
#include "ir/graph/graph.h"

namespace egret::driver {

struct InputOptions {
  std::vector<std::string> input;  // NAME=FILE, or FILE: of the next input

  static const base::OptionTable<InputOptions>& table();
};

// A value for an open size, and where it is from: "--input x=x.npy".
struct SizeFromInput {
  std::int64_t size = 0;
  std::string from;
};

struct InputValues {
  ir::GivenInputs values;
  std::map<std::string, SizeFromInput> sizes;  // of the open sizes in the given inputs' shapes
};

// Reads the files for inputs of these types. Errors, each with the argument: usage for a name that
// no input has (lists those that are there), an input that is given twice, and two values of one
// open size (names both); bad_input for other types and sizes; those of
// frontends::read_tensor_file().
base::Result<InputValues> read_inputs(const std::vector<frontends::DeclaredInput>& inputs,
                                      const InputOptions& options);
// The same of a model. Reads nothing if no input is given.
base::Result<InputValues> read_inputs(const ModelSource& source, const InputOptions& options);
// The same with as many values of an input as are wanted: each further one begins another set. At
// least one set.
base::Result<std::vector<InputValues>> read_input_sets(const ModelSource& source,
                                                       const InputOptions& options);
// Values in memory, by the input's name, for inputs of these types. Errors as above.
base::Result<InputValues> fit_inputs(const std::vector<frontends::DeclaredInput>& inputs,
                                     const ir::GivenInputs& values);

// `bind` with the sizes of the given inputs added. Errors: usage that names both where a size is
// bound to another number.
base::Result<std::vector<std::string>> bind_given(std::vector<std::string> bind,
                                                  const InputValues& given);

// The inputs of a graph: those given, the others random from the seed. All types are concrete.
std::vector<ir::Tensor> model_inputs(const ir::Graph& graph, const ir::GivenInputs& given,
                                     std::int64_t seed);
// The same with files that are read for this graph. Errors: of read_inputs().
base::Result<std::vector<ir::Tensor>> model_inputs(const ir::Graph& graph,
                                                   const InputOptions& options, std::int64_t seed);

}  // namespace egret::driver
