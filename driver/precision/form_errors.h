// SPDX-License-Identifier: Apache-2.0
// What each product and convolution of a program adds to the error of the outputs if it reads its
// operands in less precision.
//
// The model runs once on calibration samples, where the range of each first operand and the exact
// result of each contraction are seen. A contraction alone is computed in the lower form; the
// difference, added to its exact result in an otherwise exact run of the program, shows the change
// of the outputs. This is the effect of one kernel measured by running, without linearization.
// Several kernels together are estimated as independent: the squares of their errors add up.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "backends/backend.h"
#include "backends/low_precision.h"
#include "base/status.h"
#include "driver/precision/samples.h"
#include "ir/graph/graph.h"

namespace egret::driver {

// By form (backends::OperandForm).
struct FormErrors {
  struct One {
    bool possible = false;
    backends::Lowering lowering{};
    double square = 0;  // of the relative error of the outputs
  };
  std::array<One, backends::kOperandForms> forms{};

  const One& operator[](backends::OperandForm form) const {
    return forms[static_cast<std::size_t>(form)];
  }
  One& operator[](backends::OperandForm form) { return forms[static_cast<std::size_t>(form)]; }
};

// One for each of these contractions. Ranges are of all calibration samples, errors of the first.
// After `seconds` the effect of an error is no longer measured but taken from its size: by another
// form of the same contraction, or by the median of the others. Time: about one run of the program
// for each contraction and form. Errors: those of compiling and running; limit_hit where a stop was
// requested.
base::Result<std::vector<FormErrors>> measure_form_errors(const ir::Graph& program,
                                                          std::span<const ir::NodeId> contractions,
                                                          std::span<const Sample> calibration,
                                                          const backends::Backend& backend,
                                                          const backends::CompileOptions& plan,
                                                          double seconds);

}  // namespace egret::driver
