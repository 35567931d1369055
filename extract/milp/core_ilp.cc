// SPDX-License-Identifier: Apache-2.0
#include "extract/milp/core_ilp.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "extract/milp/choice_cycles.h"
#include "extract/milp/class_positions.h"
#include "extract/milp/core_program.h"
#include "extract/milp/cut_loop.h"
#include "extract/milp/loop_cuts.h"
#include "extract/milp/milp_process.h"
#include "extract/milp/primal_dual_lp.h"

namespace egret::extract {
namespace {

// Shares of the candidates: useless ones that end the rounds of cuts, and those that are worth
// reducing the core anew for when these have ended.
constexpr double kEnoughUseless = 0.25;
constexpr double kWorthReducing = 0.05;

// What does not change while a core is solved.
struct IlpTask {
  const CoreStructure& structure;
  MilpSolver& solver;
  const IlpOptions& options;
  const base::Deadline& deadline;
  const std::function<bool()>& should_stop;
  double unit;  // costs of answers are multiples of it; 0: of none

  const Core& core() const { return structure.core; }
  bool has_sides() const { return !options.sides.empty(); }
  base::Deadline share_of_time(double share) const {
    return base::Deadline::after(deadline.remaining() * share);
  }
};

// The program as far as it is written: rows against cycles are added as these turn up.
struct GrowingProgram {
  Milp milp;
  ClassPositions positions;
  std::set<std::uint32_t> cyclic;  // strong components where answers had cycles
};

// For the simplex method.
bool is_large(const Milp& program) {
  constexpr std::size_t kLarge = 8000;  // columns
  return program.columns.size() > kLarge;
}

// Whether the core may be reduced anew, without useless candidates. Reductions do not know rows
// beside the costs, and in large programs the cuts are worth more than what reductions may find.
bool may_be_reduced(const IlpTask& task, const Milp& program) {
  return !task.has_sides() && !is_large(program);
}

// Loads the program as it is now, with the best answer to start from.
base::Status load(const IlpTask& task, const GrowingProgram& program, const CoreAnswer& best) {
  EGRET_RETURN_IF_ERROR(task.solver.load(program.milp));
  // Answers differ by a unit at least.
  if (task.unit > 0) task.solver.set_gap(0.999 * task.unit);
  if (!best.chosen.empty()) {
    std::vector<double> values =
        values_of(task.structure, best.chosen, program.milp.columns.size());
    set_positions(task.structure, best.chosen, program.positions, values);
    task.solver.start_from(values);
  }
  return base::ok();
}

// Keeps an acyclic answer if it is better. False when there is none, or the solver's tolerance left
// a class without a candidate.
bool take(const Core& core, std::span<const NodeIndex> chosen, CoreAnswer& best) {
  if (chosen.empty()) return false;
  CoreAnswer found = needed_of(core, chosen);
  if (found.chosen.empty()) return false;
  if (found.cost >= best.cost) return true;
  best.chosen = std::move(found.chosen);
  best.cost = found.cost;
  return true;
}

// Cuts for each cycle of an answer, one for each class of the cycle.
base::Status forbid_cycles(const IlpTask& task, const std::vector<std::vector<ClassIndex>>& cycles,
                           GrowingProgram& program) {
  for (const std::vector<ClassIndex>& cycle : cycles) {
    program.cyclic.insert(task.structure.components[cycle.front()]);
    for (const ClassIndex c : cycle) {
      program.milp.rows.push_back(loop_cut(task.structure.flat, cycle, c));
      EGRET_RETURN_IF_ERROR(task.solver.add(program.milp.rows.back(), 0));
    }
  }
  return base::ok();
}

// Solves the program, adding cuts of cycles that turn up, until the best answer is proven. The
// program excludes only the cycles seen so far, so its bound is valid in each round. An answer with
// cycles is no answer of the core: it is cut off, and the solver continues. After every
// kRoundsOfCuts rounds, the components in which cycles occurred get positions, which exclude all
// their cycles at once. The number of rounds with new cycles is thereby bounded.
base::Result<CoreAnswer> branch(const IlpTask& task, const base::Deadline& deadline,
                                GrowingProgram& program, CoreAnswer best) {
  constexpr int kRoundsOfCuts = 12;
  for (int round = 1; !best.proven; ++round) {
    const double left = deadline.remaining();
    if (left <= 0 || (task.should_stop && task.should_stop())) break;
    EGRET_ASSIGN_OR_RETURN(
        const MilpAnswer answer,
        solve_in_process([&](double seconds) { return task.solver.solve(seconds); }, left,
                         task.should_stop));
    if (answer.lost) {
      if (!answer.fate.empty()) best.notes.push_back(answer.fate);
      break;
    }
    // Side rows can exclude every answer. Without them the core has one, so an infeasible program
    // would be a bug.
    if (answer.infeasible && task.has_sides()) {
      best.bound = Milp::kInfinite;
      break;
    }
    if (answer.infeasible) return base::internal_error("extraction: the program has no answer");
    best.bound = std::max(best.bound, task.core().raised(answer.bound));
    const std::vector<NodeIndex> chosen =
        answer.values.empty() ? std::vector<NodeIndex>() : chosen_of(task.structure, answer.values);
    const std::vector<std::vector<ClassIndex>> cycles = cycles_of(task.core(), chosen);
    const bool taken = cycles.empty() && take(task.core(), chosen, best);
    best.proven = best.is_closed() || (taken && answer.proven);
    if (cycles.empty()) break;
    EGRET_RETURN_IF_ERROR(forbid_cycles(task, cycles, program));
    if (round % kRoundsOfCuts == 0) {
      append_positions(task.structure, program.cyclic, program.positions, program.milp);
      EGRET_RETURN_IF_ERROR(load(task, program, best));
    }
  }
  return best;
}

enum class Cuts : std::uint8_t { kForget, kKeep };

// Cuts and bounds of the relaxation, with a known answer to be better than. The answer's useless
// candidates are set where the core should be reduced anew without them; the program is then not
// loaded.
base::Result<CoreAnswer> tighten_program(const IlpTask& task, double share, Cuts cuts,
                                         GrowingProgram& program, CoreAnswer best) {
  if (best.proven) return best;
  const base::Deadline deadline = task.share_of_time(share);
  const bool reducible = may_be_reduced(task, program.milp);
  TightenOptions options;
  if (task.has_sides()) options.searches = Searches::kNone;
  if (reducible) options.enough_useless = kEnoughUseless;
  PrimalDualLp relaxation(program.milp);
  EGRET_ASSIGN_OR_RETURN(Tightened tightened,
                         tighten(task.core(), program.milp, best.cost, relaxation, deadline,
                                 task.should_stop, options));
  if (!tightened.chosen.empty()) {
    best.chosen = std::move(tightened.chosen);
    best.cost = tightened.cost;
  }
  best.bound = std::max(best.bound, task.core().raised(tightened.bound));
  best.proven = best.is_closed();
  const auto worth =
      static_cast<std::size_t>(kWorthReducing * static_cast<double>(task.structure.flat.size()));
  if (reducible && !best.proven && tightened.useless.size() > worth) {
    best.useless = std::move(tightened.useless);
    return best;
  }
  auto& rows = program.milp.rows;
  if (cuts == Cuts::kKeep) rows.insert(rows.end(), tightened.cuts.begin(), tightened.cuts.end());
  for (const int candidate : tightened.useless)
    program.milp.columns[static_cast<std::size_t>(candidate)].upper = 0;
  EGRET_RETURN_IF_ERROR(load(task, program, best));
  return best;
}

}  // namespace

// The relaxation with cuts is the tighter one, the program without them branches faster; which of
// them proves more is not known beforehand. In large programs the solver would branch little.
base::Result<CoreAnswer> solve_by_ilp(const Core& core, MilpSolver& solver, const CoreAnswer& known,
                                      const base::Deadline& deadline,
                                      const std::function<bool()>& should_stop,
                                      const IlpOptions& options) {
  const CoreStructure structure(core);
  GrowingProgram program{program_of(structure), {}, {}};
  auto& rows = program.milp.rows;
  rows.insert(rows.end(), options.sides.begin(), options.sides.end());
  const IlpTask task{structure, solver, options, deadline, should_stop, core.granularity()};
  const bool large = is_large(program.milp);
  CoreAnswer best = known;
  EGRET_RETURN_IF_ERROR(load(task, program, best));
  if (std::isfinite(best.cost) && !core.has_negative_costs()) {
    if (!large && !task.has_sides() && options.branches_first) {
      EGRET_ASSIGN_OR_RETURN(best,
                             tighten_program(task, 0.05, Cuts::kForget, program, std::move(best)));
      if (!best.useless.empty()) return best;
      EGRET_ASSIGN_OR_RETURN(best,
                             branch(task, task.share_of_time(0.25), program, std::move(best)));
    }
    EGRET_ASSIGN_OR_RETURN(
        best, tighten_program(task, large ? 0.95 : 0.5, Cuts::kKeep, program, std::move(best)));
    if (!best.useless.empty()) return best;
  }
  EGRET_ASSIGN_OR_RETURN(best, branch(task, deadline, program, std::move(best)));
  if (best.proven) best.bound = best.cost;
  return best;
}

}  // namespace egret::extract
