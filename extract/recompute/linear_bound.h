// SPDX-License-Identifier: Apache-2.0
// Least costs of integer programs, safe from the rounding of solvers.
#pragma once

#include <functional>
#include <vector>

#include "extract/milp/milp.h"

namespace egret::extract {

// What the duals of a program's rows prove: no answer of its relaxation costs less. Holds for any
// duals, of rows with bounds on the side that their sign asks for; all columns are bounded.
// O(entries).
double proven_bound(const Milp& milp, const std::vector<double>& duals);

struct ProgramAnswer {
  std::vector<double> relaxed{};  // values of the relaxation; empty where it was not solved
  std::vector<double> values{};   // of the best integer answer; empty: none found
  double bound = -Milp::kInfinite;
  bool proven = false;      // `values` are of least cost
  bool infeasible = false;  // there are no values
};

// Solves the relaxation, then, with `integer`, the program itself, within the time; in a process of
// its own, since solvers look at the clock too rarely. Without a solver nothing is found.
ProgramAnswer solve_program(const Milp& milp, bool integer, double seconds,
                            const std::function<bool()>& should_stop);

}  // namespace egret::extract
