// SPDX-License-Identifier: Apache-2.0
#include "driver/load_in_engine.h"

#include <string>

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

}  // namespace egret::driver
