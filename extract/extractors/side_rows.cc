// SPDX-License-Identifier: Apache-2.0
#include "extract/extractors/side_rows.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/timer.h"
#include "extract/milp/core_ilp.h"
#include "extract/reduce/reduce.h"

namespace egret::extract {
namespace {

constexpr std::string_view kInfeasible = "no choice satisfies the constraints";

constexpr double kTolerance = 1e-6;  // of a row's limit, as solvers have it

// Extraction under side rows: the reduced core as an integer program with the rows added. Nodes
// with a weight in some row are marked for the reductions.
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
    answer.cost -= core_.paid;
    const double scale = core_.bring_to_scale(magnitude(known));
    answer.cost *= scale;
    const auto solver = solvers.front().make();
    const std::vector<Milp::Row> rows = milp_rows();
    EGRET_ASSIGN_OR_RETURN(answer, solve_by_ilp(core_, *solver, answer, deadline_,
                                                options_.should_stop, {.sides = rows}));
    return solution(answer, core_.paid + answer.bound / scale, known);
  }

 private:
  bool stopped() const {
    return deadline_.expired() || (options_.should_stop && options_.should_stop());
  }

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
    const bool has_choice = !answer.chosen.empty();
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
    best.quality = answer.proven ? Quality::kOptimal : Quality::kFeasible;
    best.bound =
        answer.proven ? best.dag_cost : std::min(std::max(best.bound, bound), best.dag_cost);
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
