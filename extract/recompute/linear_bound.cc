// SPDX-License-Identifier: Apache-2.0
#include "extract/recompute/linear_bound.h"

#include <algorithm>
#include <cmath>

#include "base/timer.h"
#include "extract/milp/milp_process.h"

namespace egret::extract {
namespace {

// What a solver answers comes through a process as a MilpAnswer: the relaxation's values, then the
// duals of the rows.
base::Result<MilpAnswer> relax_in_process(const Milp& milp, double seconds,
                                          const std::function<bool()>& should_stop) {
  const std::unique_ptr<MilpSolver> solver = milp_solvers().front().make();
  EGRET_RETURN_IF_ERROR(solver->load(milp));
  return solve_in_process(
      [&](double left) -> base::Result<MilpAnswer> {
        EGRET_ASSIGN_OR_RETURN(LpAnswer relaxed, solver->relax(left, 0));
        MilpAnswer answer;
        if (!relaxed.solved) return answer;
        answer.bound = proven_bound(milp, relaxed.duals);
        answer.values = std::move(relaxed.values);
        return answer;
      },
      seconds, should_stop);
}

base::Result<MilpAnswer> solve_in_own_process(const Milp& milp, double seconds,
                                              const std::function<bool()>& should_stop) {
  const std::unique_ptr<MilpSolver> solver = milp_solvers().front().make();
  EGRET_RETURN_IF_ERROR(solver->load(milp));
  // The solver ends at its own limit with what it has; the process ends a little later.
  return solve_in_process([&](double left) { return solver->solve(0.85 * left); }, seconds,
                          should_stop);
}

}  // namespace

double proven_bound(const Milp& milp, const std::vector<double>& duals) {
  if (duals.size() != milp.rows.size()) return -Milp::kInfinite;
  std::vector<double> reduced;
  reduced.reserve(milp.columns.size());
  for (const Milp::Column& column : milp.columns) reduced.push_back(column.cost);
  double bound = 0;
  for (std::size_t r = 0; r < milp.rows.size(); ++r) {
    const Milp::Row& row = milp.rows[r];
    const double side = duals[r] > 0 ? row.lower : row.upper;
    if (duals[r] == 0 || !std::isfinite(side)) continue;  // a dual of 0 is always allowed
    bound += duals[r] * side;
    for (std::size_t k = 0; k < row.columns.size(); ++k)
      reduced[static_cast<std::size_t>(row.columns[k])] -= duals[r] * row.values[k];
  }
  for (std::size_t c = 0; c < milp.columns.size(); ++c)
    bound += reduced[c] * (reduced[c] > 0 ? milp.columns[c].lower : milp.columns[c].upper);
  return bound;
}

ProgramAnswer solve_program(const Milp& milp, bool integer, double seconds,
                            const std::function<bool()>& should_stop) {
  ProgramAnswer answer;
  if (milp_solvers().empty() || seconds <= 0) return answer;
  const base::Deadline deadline = base::Deadline::after(seconds);
  const auto relaxed = relax_in_process(milp, seconds, should_stop);
  if (relaxed.ok() && !relaxed->values.empty()) {
    answer.relaxed = relaxed->values;
    answer.bound = relaxed->bound;
  }
  if (!integer || deadline.expired()) return answer;
  const auto solved = solve_in_own_process(milp, deadline.remaining(), should_stop);
  if (!solved.ok() || solved->lost) return answer;
  answer.infeasible = solved->infeasible;
  answer.proven = solved->proven;
  answer.values = solved->values;
  if (std::isfinite(solved->bound)) answer.bound = std::max(answer.bound, solved->bound);
  return answer;
}

}  // namespace egret::extract
