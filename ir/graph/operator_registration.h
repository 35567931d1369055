// SPDX-License-Identifier: Apache-2.0
// Operators of a program of one's own, beside those of ir/ops/operators.def: one function that
// makes the operator and one call at the program's start. All that Egret derives of a definition
// (tests, proofs, discovered rules) works on it; ONNX files name it only if it says how.
#pragma once

#include "ir/graph/operator.h"

namespace egret::ir {

// Adds an operator for the life of the process. Before threads start, and before anything asked for
// all operators. A name that is taken is our own bug.
const Operator& register_operator(Operator made);

}  // namespace egret::ir
