// SPDX-License-Identifier: Apache-2.0
#include "tools/arguments/model_file.h"

#include <utility>

namespace egret::tools {

base::Result<std::optional<std::string>> bytes_of_standard_input(const std::string& path) {
  if (path != "-") return std::optional<std::string>();
  EGRET_ASSIGN_OR_RETURN(std::string bytes, read_input(path, kMostModelBytes));
  return std::optional(std::move(bytes));
}

base::Result<ModelSource> source_of(const std::string& path) {
  EGRET_ASSIGN_OR_RETURN(std::optional<std::string> bytes, bytes_of_standard_input(path));
  if (!bytes) return ModelSource{.path = path};
  return ModelSource{.path = "standard input", .bytes = std::move(bytes)};
}

void report_notes(const frontends::ImportedModel& model, Console& console) {
  for (const std::string& note : model.notes) console.detail(note);
}

base::Result<frontends::ImportedModel> read_model(const ModelSource& source,
                                                  const ModelOptions& options, Console& console) {
  EGRET_ASSIGN_OR_RETURN(frontends::ImportedModel model, driver::read_model(source, options));
  report_notes(model, console);
  return model;
}

base::Result<frontends::ImportedModel> read_concrete_model(const ModelSource& source,
                                                           const ModelOptions& options,
                                                           Console& console, BindNames names) {
  EGRET_ASSIGN_OR_RETURN(driver::ConcreteModel read,
                         driver::read_concrete_model(source, options, names));
  if (!read.chosen.empty()) console.note("open sizes are taken as" + read.chosen);
  report_notes(read.model, console);
  return std::move(read.model);
}

base::Result<frontends::ImportedModel> read_concrete_model(const std::string& path,
                                                           const ModelOptions& options,
                                                           Console& console, BindNames names) {
  EGRET_ASSIGN_OR_RETURN(const ModelSource source, source_of(path));
  return read_concrete_model(source, options, console, names);
}

}  // namespace egret::tools
