// SPDX-License-Identifier: Apache-2.0
#include "driver/models/read_model.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "base/formats/units.h"
#include "ir/evaluate/input_draws.h"

namespace egret::driver {
const base::OptionTable<ModelOptions>& ModelOptions::table() {
  using M = ModelOptions;
  static const base::OptionTable<M> rows{
      "model",
      {{"bind", &M::bind, "Set the size of a symbolic dimension, as NAME=SIZE"},
       {"input-range", &M::input_range,
        "Random values of an input lie in this range, as NAME=LOW..HIGH: a mask=0..1, for "
        "example"}}};
  return rows;
}

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

namespace {

// The ranges go into the graph's metadata, beside those that the model has.
base::Status set_input_ranges(ir::Graph& graph, const std::vector<std::string>& texts) {
  std::map<std::string, ir::Draw> ranges;
  for (const std::string& text : texts) {
    const auto equals = text.find('=');
    const auto dots = text.find("..", equals == std::string::npos ? 0 : equals);
    if (equals == std::string::npos || dots == std::string::npos)
      return base::usage_error("--input-range takes NAME=LOW..HIGH, not '" + text + "'");
    const std::string name = text.substr(0, equals);
    const auto low = base::parse_real(std::string_view(text).substr(equals + 1, dots - equals - 1));
    const auto high = base::parse_real(std::string_view(text).substr(dots + 2));
    if (!low.ok()) return low.status().at("--input-range " + text);
    if (!high.ok()) return high.status().at("--input-range " + text);
    if (*high < *low) return base::usage_error("--input-range " + text + ": no number is in it");
    const bool known = std::ranges::any_of(
        graph.inputs(), [&](ir::NodeId id) { return graph.node(id).name == name; });
    if (!known) return base::usage_error("--input-range: the model has no input '" + name + "'");
    ranges[name] = {*low, *high};
  }
  if (!ranges.empty()) ir::add_draws(graph, ranges);
  return base::ok();
}

}  // namespace

base::Result<frontends::ImportedModel> read_model(const ModelSource& source,
                                                  const ModelOptions& options,
                                                  frontends::ImportOptions import) {
  EGRET_ASSIGN_OR_RETURN(const auto bound, frontends::parse_bindings(options.bind));
  for (const auto& [name, size] : bound) import.bind.insert_or_assign(name, size);
  auto model = source.bytes ? frontends::import_onnx_bytes(std::as_bytes(std::span(*source.bytes)),
                                                           source.folder, import, source.path)
                            : frontends::import_onnx(source.path, import);
  if (!model.ok()) return model.status();
  EGRET_RETURN_IF_ERROR(set_input_ranges(model->graph, options.input_range));
  return model;
}

base::Result<ConcreteModel> read_concrete_model(const ModelSource& source,
                                                const ModelOptions& options, BindNames names) {
  EGRET_ASSIGN_OR_RETURN(const std::vector<frontends::OpenSize> open, open_sizes(source));
  EGRET_ASSIGN_OR_RETURN(const auto bound, frontends::parse_bindings(options.bind));
  ModelOptions all = options;
  std::string chosen;
  for (const auto& [name, axis] : open) {
    if (bound.contains(name)) continue;
    all.bind.push_back(name + "=" + std::to_string(usual_size(name, axis)));
    chosen += " --bind " + all.bind.back();
  }
  frontends::ImportOptions import;
  import.allow_unknown_bind = names == BindNames::kMayBeUnknown;
  EGRET_ASSIGN_OR_RETURN(frontends::ImportedModel model,
                         read_model(source, all, std::move(import)));
  return ConcreteModel{std::move(model), std::move(chosen)};
}

base::Result<std::vector<frontends::DeclaredInput>> declared_inputs(const ModelSource& source) {
  return source.bytes ? frontends::read_declared_inputs(std::as_bytes(std::span(*source.bytes)))
                      : frontends::read_declared_inputs(source.path);
}

base::Result<std::vector<frontends::OpenSize>> open_sizes(const ModelSource& source) {
  return source.bytes ? frontends::read_open_sizes(std::as_bytes(std::span(*source.bytes)))
                      : frontends::read_open_sizes(source.path);
}

}  // namespace egret::driver
