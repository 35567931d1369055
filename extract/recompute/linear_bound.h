// SPDX-License-Identifier: Apache-2.0
// Least costs of integer programs, safe from the rounding of solvers.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "extract/milp/milp.h"

namespace egret::extract {

// What the duals of a program's rows prove: no answer of its relaxation costs less. Holds for any
// duals, of rows with bounds on the side that their sign asks for; all columns are bounded.
// O(entries).
double proven_bound(const Milp& milp, const std::vector<double>& duals);

// The factor that makes all costs add up to 1000, since the tolerances of solvers are absolute; 1
// for a total of 0.
double cost_scale(double total);

// How the work of a solver ended.
enum class SolverEnd : std::uint8_t {
  kDone,         // it says all that it was asked for
  kTime,         // the time is over, or the caller stopped it
  kLost,         // it crashed, ran past its time, or failed
  kUnavailable,  // this build has no solver, or none that solves relaxations
};
std::string_view text_of(SolverEnd end);

struct ProgramAnswer {
  std::vector<double> relaxed{};  // values of the relaxation; empty where it has none in the time
  std::vector<double> values{};   // of the best integer answer; empty: none found
  // No answer costs less. The first is proven_bound() of the relaxation's duals. The second is the
  // larger one of it and of what the solver says, as exact as the solver's arithmetic.
  double proven_bound = -Milp::kInfinite;
  double bound = -Milp::kInfinite;
  bool proven = false;      // `values` are of least cost, says the solver
  bool infeasible = false;  // there are no values, says the solver
  SolverEnd end = SolverEnd::kDone;
};

enum class Solves : std::uint8_t {
  kRelaxation,
  kProgram,
  kBoth,  // the relaxation first, and the program in the time that is left
};

// Runs the solver in a process of its own, since solvers look at the clock too rarely. The time of
// kProgram is the solver's own; its process may take a tenth and a second more, after which it is
// ended. `start` are values of an answer for the solver to start from, or empty.
ProgramAnswer solve_program(const Milp& milp, Solves what, double seconds,
                            const std::function<bool()>& should_stop,
                            const std::vector<double>& start = {});

}  // namespace egret::extract
