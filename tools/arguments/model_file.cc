// SPDX-License-Identifier: Apache-2.0
#include "tools/arguments/model_file.h"

#include <cctype>
#include <utility>

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

const base::OptionTable<SizeOptions>& SizeOptions::table() {
  using S = SizeOptions;
  static const base::OptionTable<S> rows{"sizes",
                                         {{"at", &S::at,
                                           "Size of a symbolic dimension at which to measure, as "
                                           "NAME=SIZE; the result keeps it open"}}};
  return rows;
}

namespace {

// A usual number for a size of this name that first occurs at this axis.
std::int64_t usual_size(std::string_view name, int axis) {
  std::string lower;
  for (const char letter : name)
    lower += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  const auto has = [&](std::string_view part) { return lower.find(part) != std::string::npos; };
  if (has("batch") || lower == "n" || lower == "b") return 1;
  if (has("seq") || has("length") || has("token") || has("time")) return 128;
  if (has("height") || has("width") || lower == "h" || lower == "w") return 224;
  if (axis == 0) return 1;    // mostly a batch
  if (axis >= 2) return 224;  // mostly of an image
  return 64;
}

base::Result<frontends::ImportedModel> import_model(const std::string& path,
                                                    const std::optional<std::string>& bytes,
                                                    const ModelOptions& options, Console& console,
                                                    frontends::ImportOptions import) {
  EGRET_ASSIGN_OR_RETURN(import.bind, frontends::parse_bindings(options.bind));
  auto model = bytes ? frontends::import_onnx_bytes(std::as_bytes(std::span(*bytes)), "", import,
                                                    "standard input")
                     : frontends::import_onnx(path, import);
  if (!model.ok()) return model.status();
  for (const std::string& note : model->notes) console.detail(note);
  return model;
}

}  // namespace

base::Result<frontends::ImportedModel> read_open_model(const std::string& path,
                                                       const ModelOptions& options,
                                                       const SizeOptions& sizes,
                                                       std::optional<rules::OpenSizes>& open,
                                                       Console& console) {
  EGRET_ASSIGN_OR_RETURN(const auto at, frontends::parse_bindings(sizes.at));
  std::optional<std::string> bytes;
  if (path == "-") {
    EGRET_ASSIGN_OR_RETURN(bytes, read_input(path, kMostModelBytes));
  }
  frontends::ImportOptions import;
  import.opaque_nodes = true;
  import.example_of = [&](std::string_view name, int axis) { if (!open) open.emplace();
  const auto given = at.find(std::string(name));
  return given != at.end() ? given->second : usual_size(name, axis);
};
EGRET_ASSIGN_OR_RETURN(frontends::ImportedModel model,
                       import_model(path, bytes, options, console, import));
for (const auto& [name, size] : at) {
  if (!open || !open->examples().contains(name))
    return base::usage_error("--at: the model has no open size '" + name + "'");
  if (size < 1) return base::usage_error("--at: " + name + " must be at least 1");
}
return model;
}  // namespace egret::tools

base::Result<frontends::ImportedModel> read_model(const std::string& path,
                                                  const std::optional<std::string>& bytes,
                                                  const ModelOptions& options, Console& console,
                                                  BindNames names) {
  frontends::ImportOptions import;
  import.allow_unknown_bind = names == BindNames::kMayBeUnknown;
  return import_model(path, bytes, options, console, std::move(import));
}

base::Result<frontends::ImportedModel> read_concrete_model(const std::string& path,
                                                           const ModelOptions& options,
                                                           Console& console, BindNames names) {
  std::optional<std::string> bytes;
  if (path == "-") {
    EGRET_ASSIGN_OR_RETURN(bytes, read_input(path, kMostModelBytes));
  }
  EGRET_ASSIGN_OR_RETURN(const std::vector<frontends::OpenSize> open,
                         bytes ? frontends::read_open_sizes(std::as_bytes(std::span(*bytes)))
                               : frontends::read_open_sizes(path));
  EGRET_ASSIGN_OR_RETURN(const auto bound, frontends::parse_bindings(options.bind));
  ModelOptions all = options;
  std::string chosen;
  for (const auto& [name, axis] : open) {
    if (bound.contains(name)) continue;
    all.bind.push_back(name + "=" + std::to_string(usual_size(name, axis)));
    chosen += " --bind " + all.bind.back();
  }
  if (!chosen.empty()) console.note("open sizes:" + chosen);
  return read_model(path, bytes, all, console, names);
}

}  // namespace egret::tools
