// SPDX-License-Identifier: Apache-2.0
#include "tools/arguments/input_files.h"

#include <utility>

namespace egret::tools {

base::Result<ModelWithInputs> read_model_with_inputs(const std::string& path,
                                                     const ModelOptions& model,
                                                     const InputOptions& inputs, Console& console,
                                                     BindNames names) {
  EGRET_ASSIGN_OR_RETURN(const ModelSource source, source_of(path));
  EGRET_ASSIGN_OR_RETURN(driver::InputValues given, driver::read_inputs(source, inputs));
  ModelOptions bound = model;
  EGRET_ASSIGN_OR_RETURN(bound.bind, driver::bind_given(model.bind, given));
  EGRET_ASSIGN_OR_RETURN(frontends::ImportedModel read,
                         read_concrete_model(source, bound, console, names));
  return ModelWithInputs{std::move(read), std::move(given.values), std::move(bound)};
}

}  // namespace egret::tools
