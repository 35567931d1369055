// SPDX-License-Identifier: Apache-2.0
// Models together with files of values for their inputs, as arguments of verbs.
#pragma once

#include <string>

#include "base/status.h"
#include "driver/models/input_values.h"
#include "ir/evaluate/given_inputs.h"
#include "tools/arguments/model_file.h"
#include "tools/console/console.h"

namespace egret::tools {

using driver::InputOptions;
using driver::model_inputs;

struct ModelWithInputs {
  frontends::ImportedModel model;
  ir::GivenInputs given;
  ModelOptions bound;  // with the sizes of the given inputs, for models to compare it with
};
// read_concrete_model() with the sizes that the given inputs have.
base::Result<ModelWithInputs> read_model_with_inputs(const std::string& path,
                                                     const ModelOptions& model,
                                                     const InputOptions& inputs, Console& console,
                                                     BindNames names = BindNames::kMustExist);

}  // namespace egret::tools
