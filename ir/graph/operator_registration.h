// SPDX-License-Identifier: Apache-2.0
// Operators that a program adds to those of ir/ops/operators.def. The program writes one function
// that makes the operator and calls register_operator() at its start. Everything that Egret derives
// from a definition (tests, proofs, discovered rules) applies to it. ONNX import and export need an
// explicit mapping.
#pragma once

#include "ir/graph/operator.h"

namespace egret::ir {

// Adds an operator for the life of the process. Call it before threads start and before the first
// request for all operators. A name that is taken is a bug in the program (EGRET_CHECK).
const Operator& register_operator(Operator made);

}  // namespace egret::ir
