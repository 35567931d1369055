// SPDX-License-Identifier: Apache-2.0
#include "tools/arguments/model_file.h"

#include <set>

#include "ir/graph/open_sizes.h"

namespace egret::tools {
const base::OptionTable<ModelOptions>& ModelOptions::table() {
  using M = ModelOptions;
  static const base::OptionTable<M> rows{
      "model", {{"bind", &M::bind, "Set the size of a symbolic dimension, as NAME=SIZE"}}};
  return rows;
}

base::Result<frontends::ImportedModel> read_model(const std::string& path,
                                                  const ModelOptions& options, Console& console,
                                                  BindNames names) {
  if (path != "-") return read_model(path, std::nullopt, options, console, names);
  EGRET_ASSIGN_OR_RETURN(std::string bytes, read_input(path, kMostModelBytes));
  return read_model(path, std::move(bytes), options, console, names);
}

base::Result<frontends::ImportedModel> read_model(const std::string& path,
                                                  const std::optional<std::string>& bytes,
                                                  const ModelOptions& options, Console& console,
                                                  BindNames names) {
  frontends::ImportOptions import;
  import.allow_unknown_bind = names == BindNames::kMayBeUnknown;
  EGRET_ASSIGN_OR_RETURN(import.bind, frontends::parse_bindings(options.bind));
  const auto read = [&] {
    return bytes ? frontends::import_onnx_bytes(std::as_bytes(std::span(*bytes)), "", import,
                                                "standard input")
                 : frontends::import_onnx(path, import);
  };
  EGRET_ASSIGN_OR_RETURN(frontends::ImportedModel model, read());
  for (const std::string& note : model.notes) console.detail(note);
  return model;
}

base::Result<frontends::ImportedModel> read_concrete_model(const std::string& path,
                                                           const ModelOptions& options,
                                                           Console& console, BindNames names) {
  EGRET_ASSIGN_OR_RETURN(frontends::ImportedModel model, read_model(path, options, console, names));
  const std::set<std::string> sizes = ir::open_sizes(model.graph);
  if (sizes.empty()) return model;
  std::string remedy;
  for (const std::string& size : sizes) remedy += " --bind " + size + "=SIZE";
  return base::usage_error("inputs with unbound sizes: " + ir::open_inputs(model.graph) +
                           "; bind them with" + remedy);
}

}  // namespace egret::tools
