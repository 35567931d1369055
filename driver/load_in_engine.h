// SPDX-License-Identifier: Apache-2.0
// A model as a user names it, loaded in an engine without a change.
#pragma once

#include <memory>

#include "backends/backend.h"
#include "base/status.h"
#include "driver/engine/engine.h"
#include "driver/models/read_model.h"

namespace egret::driver {

// `graph` is the model's import, with concrete sizes. Errors: those of Engine::load(); unsupported
// for bytes with external data, which an engine finds only beside a file. Of the options, threads
// and profile count.
base::Result<std::unique_ptr<backends::ExecutablePlan>> load_in_engine(
    const Engine& engine, const ModelSource& source, const ir::Graph& graph,
    const backends::CompileOptions& options);

}  // namespace egret::driver
