// SPDX-License-Identifier: Apache-2.0
#include "python/src/models.h"

#include <nanobind/stl/string.h>

namespace egret::python {

driver::ModelSource Model::source() const {
  driver::ModelSource source{.path = path, .folder = folder};
  if (bytes.is_valid()) source.bytes = std::string(bytes.c_str(), bytes.size());
  return source;
}

base::Result<driver::InputValues> values_for(const driver::ModelSource& source,
                                             const ir::GivenInputs& given) {
  if (given.empty()) return driver::InputValues();
  EGRET_ASSIGN_OR_RETURN(const auto declared, driver::declared_inputs(source));
  return driver::fit_inputs(declared, given);
}

void bind_models(nb::module_& module) {
  nb::class_<Model>(module, "Model", "An ONNX file, or the bytes of one.")
      .def(
          "__init__",
          [](Model* self, std::string path) {
            new (self) Model{std::move(path), {}, {}};
          },
          nb::arg("path"))
      .def(
          "__init__",
          [](Model* self, std::string name, nb::bytes bytes, std::string folder) {
            new (self) Model{std::move(name), std::move(bytes), std::move(folder)};
          },
          nb::arg("name"), nb::arg("bytes"), nb::arg("folder"));
}

}  // namespace egret::python
