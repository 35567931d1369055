// SPDX-License-Identifier: Apache-2.0
// Models as Python hands them over.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "driver/models/input_values.h"
#include "driver/models/read_model.h"

namespace egret::python {

namespace nb = nanobind;

// A path, or bytes with the name that messages give them. `folder`: where external data may lie.
struct Model {
  std::string path;
  nb::bytes bytes;  // null: the file is read
  std::string folder;

  driver::ModelSource source() const;
};

void bind_models(nb::module_& module);

// Values for inputs of the model. Empty without arrays.
base::Result<driver::InputValues> values_for(const driver::ModelSource& source,
                                             const ir::GivenInputs& given);

}  // namespace egret::python
