// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/models/read_model.h"

namespace egret::driver {

// Reads a rank's model, whose exchanges stay nodes, with all sizes known, as read_concrete_model()
// does. Bindings that it does not have are ignored: a rank may have fixed what the model leaves
// open.
base::Result<ConcreteModel> read_rank_model(const ModelSource& source, const ModelOptions& options);

}  // namespace egret::driver
