// SPDX-License-Identifier: Apache-2.0
// Files with values for a model's inputs, as an argument of verbs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/options/option_table.h"
#include "base/status.h"
#include "frontends/onnx.h"
#include "ir/evaluate/given_inputs.h"
#include "ir/graph/graph.h"
#include "tools/arguments/model_file.h"
#include "tools/console/console.h"

namespace egret::tools {

struct InputOptions {
  std::vector<std::string> input;  // NAME=FILE, or FILE: of the next input

  static const base::OptionTable<InputOptions>& table();
};

// A value for an open size, and where it is from: "--input x=x.npy".
struct SizeFromInput {
  std::int64_t size = 0;
  std::string from;
};

struct InputFiles {
  ir::GivenInputs values;
  std::map<std::string, SizeFromInput> sizes;  // of the open sizes in the given inputs' shapes
};

// Reads the files for inputs of these types. Errors, each with the argument: usage for a name that
// no input has (lists those that are there), an input that is given twice, and two values of one
// open size (names both); bad_input for other types and sizes; those of
// frontends::read_tensor_file().
base::Result<InputFiles> read_input_files(const std::vector<frontends::DeclaredInput>& inputs,
                                          const InputOptions& options);
// The same of the model at PATH, or of its bytes. Reads nothing if no input is given.
base::Result<InputFiles> read_input_files(const std::string& path,
                                          const std::optional<std::string>& bytes,
                                          const InputOptions& options);

// The same with as many values of an input as are wanted: each further one begins another set. At
// least one set.
base::Result<std::vector<InputFiles>> read_input_sets(const std::string& path,
                                                      const std::optional<std::string>& bytes,
                                                      const InputOptions& options);

// `bind` with the sizes of the given inputs added. Errors: usage that names both where a size is
// bound to another number.
base::Result<std::vector<std::string>> bind_given(std::vector<std::string> bind,
                                                  const InputFiles& files);

// The inputs of a graph: those given, the others random from the seed. All types are concrete.
std::vector<ir::Tensor> model_inputs(const ir::Graph& graph, const ir::GivenInputs& given,
                                     std::int64_t seed);
// The same with files that are read for this graph. Errors: of read_input_files().
base::Result<std::vector<ir::Tensor>> model_inputs(const ir::Graph& graph,
                                                   const InputOptions& options, std::int64_t seed);

}  // namespace egret::tools
