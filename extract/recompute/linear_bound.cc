// SPDX-License-Identifier: Apache-2.0
#include "extract/recompute/linear_bound.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "base/timer.h"
#include "extract/milp/milp_process.h"

namespace egret::extract {
namespace {

// What a solver answers comes through a process as a MilpAnswer: the relaxation's values, and what
// its duals prove. Models are loaded in that process, which can be ended meanwhile.
base::Result<MilpAnswer> relax_in_process(const Milp& milp, double seconds,
                                          const std::function<bool()>& should_stop) {
  return solve_in_process(
      [&](double left) -> base::Result<MilpAnswer> {
        const std::unique_ptr<MilpSolver> solver = milp_solvers().front().make();
        EGRET_RETURN_IF_ERROR(solver->load(milp));
        EGRET_ASSIGN_OR_RETURN(LpAnswer relaxed, solver->relax(left, 0));
        MilpAnswer answer;
        if (!relaxed.solved) return answer;
        answer.bound = proven_bound(milp, relaxed.duals);
        answer.values = std::move(relaxed.values);
        return answer;
      },
      seconds, should_stop);
}

// Whether the solver of this build offers relaxations at all. One that does not fails to solve the
// smallest program.
bool solves_relaxations() {
  static const bool kSolves = [] {
    const std::unique_ptr<MilpSolver> solver = milp_solvers().front().make();
    if (!solver
             ->load({.columns = {{.cost = 1}},
                     .rows = {{.lower = 0.5, .columns = {0}, .values = {1}}}})
             .ok())
      return false;
    const auto relaxed = solver->relax(10, 0);
    return relaxed.ok() && relaxed->solved;
  }();
  return kSolves;
}

// The solver ends at `seconds` with what it has; the process is ended at `most`.
base::Result<MilpAnswer> solve_in_own_process(const Milp& milp, double seconds, double most,
                                              const std::function<bool()>& should_stop,
                                              const std::vector<double>& start) {
  return solve_in_process(
      [&](double) -> base::Result<MilpAnswer> {
        const std::unique_ptr<MilpSolver> solver = milp_solvers().front().make();
        EGRET_RETURN_IF_ERROR(solver->load(milp));
        if (!start.empty()) solver->start_from(start);
        return solver->solve(seconds);
      },
      most, should_stop);
}

// A stopped process is lost without a fate; one that ran past its time has one.
SolverEnd end_of(const base::Result<MilpAnswer>& answer) {
  if (!answer.ok()) return SolverEnd::kLost;
  if (!answer->lost) return SolverEnd::kDone;
  return answer->fate.empty() ? SolverEnd::kTime : SolverEnd::kLost;
}

}  // namespace

double cost_scale(double total) { return total > 0 ? 1000 / total : 1; }

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

std::string_view text_of(SolverEnd end) {
  switch (end) {
    case SolverEnd::kDone: return "done";
    case SolverEnd::kTime: return "time is over";
    case SolverEnd::kLost: return "solver lost";
    case SolverEnd::kUnavailable: return "no solver";
  }
  return "";
}

ProgramAnswer solve_program(const Milp& milp, Solves what, double seconds,
                            const std::function<bool()>& should_stop,
                            const std::vector<double>& start) {
  ProgramAnswer answer;
  if (milp_solvers().empty() || seconds <= 0) {
    answer.end = seconds <= 0 ? SolverEnd::kTime : SolverEnd::kUnavailable;
    return answer;
  }
  const base::Deadline deadline = base::Deadline::after(seconds);
  if (what != Solves::kProgram) {
    const auto relaxed = relax_in_process(milp, seconds, should_stop);
    answer.end = end_of(relaxed);
    if (answer.end == SolverEnd::kDone && relaxed->values.empty())
      answer.end = !solves_relaxations()                  ? SolverEnd::kUnavailable
                   : deadline.remaining() < 0.2 * seconds ? SolverEnd::kTime
                                                          : SolverEnd::kDone;
    if (relaxed.ok() && !relaxed->values.empty()) {
      answer.relaxed = relaxed->values;
      answer.proven_bound = answer.bound = relaxed->bound;
    }
    if (what == Solves::kRelaxation || deadline.expired()) return answer;
  }
  const double left = what == Solves::kProgram ? seconds : deadline.remaining();
  // In the time of kBoth, the process ends too.
  const auto solved = what == Solves::kProgram
                          ? solve_in_own_process(milp, left, 1.1 * left + 1, should_stop, start)
                          : solve_in_own_process(milp, 0.75 * left, left, should_stop, start);
  answer.end = end_of(solved);
  if (answer.end != SolverEnd::kDone) return answer;
  answer.infeasible = solved->infeasible;
  answer.proven = solved->proven;
  answer.values = solved->values;
  if (!answer.infeasible && !answer.proven) answer.end = SolverEnd::kTime;
  if (std::isfinite(solved->bound)) answer.bound = std::max(answer.bound, solved->bound);
  return answer;
}

}  // namespace egret::extract
