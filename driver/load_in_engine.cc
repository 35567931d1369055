// SPDX-License-Identifier: Apache-2.0
#include "driver/load_in_engine.h"

#include <string>
#include <vector>

namespace egret::driver {

base::Result<std::unique_ptr<backends::ExecutablePlan>> load_in_engine(
    const Engine& engine, const ModelSource& source, const ir::Graph& graph,
    const backends::CompileOptions& options) {
  if (!source.bytes) return engine.load(source.path, graph, options);
  if (!source.folder.empty()) {
    return base::unsupported(source.path + ": " + std::string(engine.name()) +
                             " cannot read external data of bytes; give the path of a file");
  }
  return engine.load_bytes(*source.bytes, graph, options);
}

base::Result<ObservedInEngine> ObservedInEngine::of(const Engine& engine,
                                                    const ModelSource& source) {
  EGRET_ASSIGN_OR_RETURN(frontends::ObservedModel model,
                         source.bytes ? frontends::ObservedModel::read_bytes(*source.bytes)
                                      : frontends::ObservedModel::read(source.path));
  if (model.has_external_data()) {
    return base::unsupported(source.path +
                             ": inner values of a model with external data cannot be compared in "
                             "an engine");
  }
  return ObservedInEngine(engine, std::move(model));
}

base::Result<std::unique_ptr<backends::ExecutablePlan>> ObservedInEngine::load(
    const ir::Graph& graph, std::span<const SharedValue> stored,
    const backends::CompileOptions& options) const {
  std::vector<frontends::ObservedModel::Value> values;
  for (const SharedValue& value : stored) values.emplace_back(value.name, graph.node(value.b).type);
  return engine_->load_bytes(model_.with_outputs(values), graph, options);
}

}  // namespace egret::driver
