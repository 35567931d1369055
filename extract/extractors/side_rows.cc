// SPDX-License-Identifier: Apache-2.0
#include "extract/extractors/side_rows.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/timer.h"
#include "extract/bounds/dear_candidates.h"
#include "extract/extractors/elimination.h"
#include "extract/milp/core_ilp.h"
#include "extract/reduce/reduce.h"

namespace egret::extract {
namespace {

constexpr std::string_view kInfeasible = "no choice satisfies the constraints";

constexpr double kTolerance = 1e-6;  // of a row's limit, as solvers have it
constexpr double kClosed = 1e-9;     // of the cost, a gap that is none

// Tables of this size take seconds, where the integer program may take minutes.
constexpr EliminationLimits kTables{.width = 18, .entries = std::size_t{1} << 25};

// Extraction under side rows: the reduced core by tables where it is narrow and the rows are short,
// otherwise as an integer program with the rows added. Nodes with a weight in some row are marked
// for the reductions.
class Within {
 public:
  Within(const Problem& problem, std::span<const SideRow> rows, const Options& options)
      : problem_(problem), rows_(rows), options_(options) {}

  base::Result<Solution> run(const Solution* known) {
    const auto solvers = milp_solvers();
    if (solvers.empty()) return base::unavailable("this build lacks HiGHS and CBC");
    EGRET_ASSIGN_OR_RETURN(core_, Core::of(problem_));
    // A reduction may drop a candidate because another is as good by cost. With rows beside the
    // costs, that argument fails for a candidate with weights, so the reductions keep or leave
    // alone what is marked.
    core_.marked.assign(problem_.graph.node_count(), false);
    for (const SideRow& row : rows_) {
      for (const NodeIndex node : row.nodes) core_.marked[node] = true;
    }
    CoreAnswer answer;
    if (known != nullptr) answer.cost = known->dag_cost;
    reduce(core_, problem_, {answer.cost, [this] { return stopped(); }});
    if (known != nullptr) ascend(known->dag_cost);
    if (known != nullptr && is_closed(known->dag_cost)) return solution(answer, bound_, known);
    const std::vector<Milp::Row> rows = milp_rows();
    if (auto narrow = solve_by_elimination(core_, kTables, deadline_, options_.should_stop, rows))
      return solution(*narrow, core_.paid + narrow->bound, known);
    answer.cost -= core_.paid;
    const double scale = core_.bring_to_scale(magnitude(known));
    answer.cost *= scale;
    const auto solver = solvers.front().make();
    EGRET_ASSIGN_OR_RETURN(answer, solve_by_ilp(core_, *solver, answer, deadline_,
                                                options_.should_stop, {.sides = rows}));
    return solution(answer, core_.paid + answer.bound / scale, known);
  }

 private:
  bool stopped() const {
    return deadline_.expired() || (options_.should_stop && options_.should_stop());
  }

  // Drops what is too expensive beside the known answer. Bounds without the rows hold with them.
  void ascend(double known) {
    if (core_.has_negative_costs()) return;
    for (const int refresh : {0, 1, 8, 64}) {
      const FlatCore flat(core_);
      const DualAscent dual = dual_ascent(
          core_, flat, {.refresh = refresh, .should_stop = [this] { return stopped(); }});
      bound_ = std::max(bound_, core_.paid + dual.bound);
      if (is_closed(known) || stopped()) return;
      if (drop_dear(core_, flat, dual, known))
        reduce(core_, problem_, {known, [this] { return stopped(); }});
    }
  }
  bool is_closed(double known) const { return bound_ >= known - kClosed * std::abs(known); }

  // The order of magnitude of an answer's cost.
  double magnitude(const Solution* known) const {
    if (known != nullptr) return known->dag_cost;
    double most = 0;
    for (const auto& candidates : core_.classes) {
      for (const Candidate& candidate : candidates) most = std::max(most, candidate.cost);
    }
    return most;
  }

  base::Result<Solution> solution(const CoreAnswer& answer, double bound, const Solution* known) {
    // Where the reductions have decided everything, the core has no class to choose for.
    const bool has_choice = !answer.chosen.empty() || (answer.proven && core_.classes.empty());
    if (!has_choice && known == nullptr) {
      if (bound == Milp::kInfinite) return infeasible();
      return base::limit_hit(
          "no choice that satisfies the constraints was found within the time limit");
    }
    Solution best =
        has_choice ? solution_of(problem_, core_.lift(problem_, answer.chosen)) : *known;
    // The solver keeps to the rows within a tolerance. The sum over the lifted choice is tested
    // independently.
    if (!keeps_to(rows_, best, problem_.graph))
      return base::internal_error("extraction: the solver's answer does not keep to the rows");
    best.notes = answer.notes;
    best.bound = std::min(std::max({best.bound, bound, bound_}), best.dag_cost);
    const bool proven =
        answer.proven || best.bound >= best.dag_cost - kClosed * std::abs(best.dag_cost);
    best.quality = proven ? Quality::kOptimal : Quality::kFeasible;
    if (proven) best.bound = best.dag_cost;
    return best;
  }

  // A node is chosen iff a candidate that picks it is chosen, so node weights become candidate
  // weights. A candidate of the core may pick several nodes, whose weights add up.
  std::vector<Milp::Row> milp_rows() const {
    std::vector<std::vector<int>> columns(problem_.graph.node_count());
    int next = 0;
    for (const auto& candidates : core_.classes) {
      for (const Candidate& candidate : candidates) {
        for (const NodeIndex node : candidate.picks) columns[node].push_back(next);
        ++next;
      }
    }
    std::vector<Milp::Row> result;
    for (const SideRow& row : rows_) {
      std::map<int, double> sums;
      for (std::size_t i = 0; i < row.nodes.size(); ++i) {
        for (const int column : columns[row.nodes[i]]) sums[column] += row.weights[i];
      }
      Milp::Row made{-Milp::kInfinite, row.most, {}, {}};
      for (const auto& [column, sum] : sums) made.add(column, sum);
      result.push_back(std::move(made));
    }
    return result;
  }

  const Problem& problem_;
  const std::span<const SideRow> rows_;
  const Options& options_;
  const base::Deadline deadline_ = base::Deadline::after(options_.time_limit_s);
  Core core_;
  double bound_ = -std::numeric_limits<double>::infinity();  // of the problem's answers
};

}  // namespace

base::Status infeasible() { return base::limit_hit(std::string(kInfeasible)); }

bool is_infeasible(const base::Status& status) { return status.message() == kInfeasible; }

bool keeps_to(std::span<const SideRow> rows, const Solution& solution, const EGraphView& graph) {
  return std::ranges::all_of(rows, [&](const SideRow& row) {
    double sum = 0;
    for (std::size_t i = 0; i < row.nodes.size(); ++i) {
      if (solution.choice[graph.node_class[row.nodes[i]]] == row.nodes[i]) sum += row.weights[i];
    }
    return sum <= row.most + kTolerance * std::max(1.0, std::abs(row.most));
  });
}

base::Result<Solution> extract_within(const Problem& problem, std::span<const SideRow> rows,
                                      const Options& options, const Solution* known) {
  return Within(problem, rows, options).run(known);
}

}  // namespace egret::extract
