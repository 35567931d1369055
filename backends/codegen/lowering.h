// SPDX-License-Identifier: Apache-2.0
// A definition over inputs of known sizes as one loop nest (ir/nest/loop_nest.h).
#pragma once

#include <span>

#include "base/status.h"
#include "ir/evaluate/interpreter.h"
#include "ir/graph/definition.h"
#include "ir/nest/loop_nest.h"

namespace egret::backends::codegen {

// Over the whole output. Errors: unsupported for more than 60 loops.
base::Result<ir::LoopNest> lowered(const ir::Denotation& denotation,
                                   std::span<const ir::TensorType> inputs, ir::Precision precision);

}  // namespace egret::backends::codegen
