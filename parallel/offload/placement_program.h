// SPDX-License-Identifier: Apache-2.0
// The linear program of FlexGen over the nine fractions (Sheng et al., 2023, section 4.3): the
// least time of a block whose batches are given, within the memory of each place.
//
//   minimize   P + steps * D
//   subject to P >= prefill(r), D >= decode(r)       for each resource r
//              memory rows, and the parts of each value sum to 1
//
// Among answers of nearly that time, the one that moves least is taken: what is idle otherwise has
// slack in the simulation.
#pragma once

#include <optional>

#include "base/status.h"
#include "extract/milp/milp.h"
#include "parallel/offload/block_costs.h"

namespace egret::parallel {

// Parts that are given; none: free.
struct GivenParts {
  std::optional<std::array<double, 3>> weights, cache, activations;
  // Places that a value must not have.
  std::array<bool, 9> forbidden = {};

  const std::optional<std::array<double, 3>>& of(Value value) const;
};

struct PlacementAnswer {
  Fractions fractions;
  double least_s = 0;  // no fractions of this block take less
};

class PlacementProgram {
 public:
  // Unavailable without a solver of linear programs.
  static base::Result<PlacementProgram> make();

  // Nothing where no fractions fit. With QUICK, any answer of the least time.
  base::Result<std::optional<PlacementAnswer>> solve(const BlockCosts& costs,
                                                     const GivenParts& given, bool has_disk,
                                                     bool quick = false);

 private:
  explicit PlacementProgram(const extract::MilpSolverRow& solver) : solver_(&solver) {}

  const extract::MilpSolverRow* solver_;
};

}  // namespace egret::parallel
