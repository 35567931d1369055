// SPDX-License-Identifier: Apache-2.0
// A model as a user names it, loaded in an engine without a change.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "backends/backend.h"
#include "base/status.h"
#include "driver/engine/engine.h"
#include "driver/measure/first_difference.h"
#include "driver/models/read_model.h"
#include "frontends/observed_model.h"

namespace egret::driver {

// `graph` is the model's import, with concrete sizes. Errors: those of Engine::load(); unsupported
// for bytes with external data, which an engine finds only beside a file. Of the options, threads
// and profile count.
base::Result<std::unique_ptr<backends::ExecutablePlan>> load_in_engine(
    const Engine& engine, const ModelSource& source, const ir::Graph& graph,
    const backends::CompileOptions& options);

// A model in an engine that puts out inner values, too: the given file with more outputs.
class ObservedInEngine {
 public:
  // The engine outlives it. Errors: those of import; unsupported for a model with external data.
  static base::Result<ObservedInEngine> of(const Engine& engine, const ModelSource& source);

  bool computes(const std::string& name) const { return model_.computes(name); }
  // `graph` is the model's import with these values as its last outputs. Errors: those of
  // Engine::load_bytes().
  base::Result<std::unique_ptr<backends::ExecutablePlan>> load(
      const ir::Graph& graph, std::span<const SharedValue> stored,
      const backends::CompileOptions& options) const;

 private:
  ObservedInEngine(const Engine& engine, frontends::ObservedModel model)
      : engine_(&engine), model_(std::move(model)) {}

  const Engine* engine_;
  frontends::ObservedModel model_;
};

}  // namespace egret::driver
