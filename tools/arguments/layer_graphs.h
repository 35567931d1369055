// SPDX-License-Identifier: Apache-2.0
// The kernels of a transformer, from the graphs of the zoo (zoo/rank_transformer.h).
#pragma once

#include <memory>

#include "base/status.h"
#include "parallel/transformer/layer_graphs.h"
#include "parallel/transformer/training_setup.h"

namespace egret::tools {

// SETUP is checked. Errors: those of building graphs. O(context^2) kernels' work.
base::Result<std::shared_ptr<const parallel::LayerKernels>> layer_kernels_of(
    const parallel::TrainingSetup& setup);

}  // namespace egret::tools
