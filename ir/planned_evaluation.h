// SPDX-License-Identifier: Apache-2.0
// Evaluation of a denotation by plan, on all threads of the shared pool. The output is cut into
// boxes where guards on one of its variables change (the parts of a concat, the borders of a pad),
// so that most guards are decided before any element is looked at; each box has a plan of its own.
#pragma once

#include <span>

#include "base/status.h"
#include "ir/definition.h"
#include "ir/interpreter.h"
#include "ir/tensor.h"

namespace egret::ir {

// The result has the denotation's shape and dtype `result`. Errors: unsupported for denotations
// that have no plan (too many or entangled loops), which evaluate_directly() can do; otherwise
// those of the interpreter.
base::Result<Tensor> evaluate_planned(const Denotation& denotation, std::span<const Tensor> inputs,
                                      DType result, const InterpretOptions& options = {});

}  // namespace egret::ir
