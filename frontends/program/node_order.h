// SPDX-License-Identifier: Apache-2.0
// Sorts a program's nodes topologically.
#pragma once

#include "frontends/program/onnx_program.h"

namespace egret::frontends {

// Among the nodes that are ready, the first in the file comes first: sorted nodes stay as they are.
// Errors: bad_input, with the place of a node on a cycle. O(n log n) in nodes and their inputs.
base::Status sort_nodes(OnnxProgram& program);

}  // namespace egret::frontends
