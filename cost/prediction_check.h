// SPDX-License-Identifier: Apache-2.0
// The errors of interpolation and of the plain roofline on operators with known times. An error is
// the factor by which a prediction is off, minus 1: 0.1 is 10 % too much or too little.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cost/database.h"
#include "cost/model.h"

namespace egret::cost {

// Errors are the factor by which a prediction is off, less 1: 0.1 is 10 % too much or too little.
struct PredictionError {
  std::string op;  // empty: all operators
  std::int64_t entries = 0;
  std::int64_t predicted = 0;  // predicted by interpolation; the others have no neighbour
  double median = 0;           // of those that were predicted
  double p90 = 0;
  double roofline_median = 0;  // of the same entries
  double roofline_p90 = 0;
};

struct PredictionCheck {
  PredictionError all;
  std::vector<PredictionError> by_operator;  // in the order of names
  // Entries of no time (the kernels around them absorb them), for which there is no factor. They
  // are not counted above.
  std::int64_t free = 0;
  std::int64_t free_predicted = 0;  // of these, those that interpolation calls free, too
};

// Predicts each operator of `rows`, all of one machine, from all others of them (leave-one-out).
PredictionCheck check_leaving_one_out(const std::vector<Database::Row>& rows, const Rates& rates);
// Predicts each operator of `rows` that `known` lacks, from `known`.
PredictionCheck check_from(const std::vector<Database::Row>& rows,
                           const std::vector<Database::Row>& known, const Rates& rates);

}  // namespace egret::cost
