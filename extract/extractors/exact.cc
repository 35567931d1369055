// SPDX-License-Identifier: Apache-2.0
#include "extract/extractors/exact.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/timer.h"
#include "extract/choice_walk.h"
#include "extract/components.h"
#include "extract/core_ilp.h"
#include "extract/extractors/local_search.h"
#include "extract/reduce.h"

namespace egret::extract {
namespace {

constexpr double kTolerance = 1e-9;

// Of the time, what the search for an answer to compare with may take.
constexpr double kSearchShare = 0.1;

class Exact {
 public:
  Exact(const Problem& problem, const Options& options, const MilpSolverRow& solver)
      : problem_(problem),
        options_(options),
        solver_(solver),
        deadline_(base::Deadline::after(options.time_limit_s)) {}

  base::Result<Solution> run() {
    EGRET_ASSIGN_OR_RETURN(core_, Core::of(problem_));
    reduce(core_, problem_, {kInfinite, stop()});
    if (!core_.classes.empty()) {
      EGRET_RETURN_IF_ERROR(search());
      reduce(core_, problem_, {best_->dag_cost, stop()});
    }
    return solve_parts();
  }

 private:
  static constexpr double kInfinite = std::numeric_limits<double>::infinity();

  std::function<bool()> stop() const {
    return
        [this] { return deadline_.expired() || (options_.should_stop && options_.should_stop()); };
  }
  Options search_options() const {
    Options options = options_;
    options.time_limit_s = deadline_.remaining() * kSearchShare;
    return options;
  }

  // Some answer of the whole.
  base::Status search() {
    const CoreProblem core(core_);
    EGRET_ASSIGN_OR_RETURN(const Solution found,
                           extract_local_search(core.problem(), search_options()));
    keep(core_.lift(problem_, core.chosen(found)));
    return base::ok();
  }
  void keep(std::vector<NodeIndex> choice) {
    Solution solution = solution_of(problem_, std::move(choice));
    if (!best_ || solution.dag_cost < best_->dag_cost) best_ = std::move(solution);
  }

  base::Result<Solution> solve_parts() {
    std::vector<Part> parts = connected_parts(core_);
    std::ranges::stable_sort(parts, {}, [](const Part& p) { return p.core.candidate_count(); });
    std::vector<NodeIndex> chosen(core_.classes.size(), kNoNode);
    double bound = core_.paid;
    bool complete = true;
    bool proven = true;
    for (const Part& part : parts) {
      EGRET_ASSIGN_OR_RETURN(const CoreAnswer answer, solve(part.core));
      bound += answer.bound;
      proven = proven && answer.proven;
      complete = complete && !answer.chosen.empty();
      for (std::size_t i = 0; i < answer.chosen.size(); ++i)
        chosen[part.origin[i]] = answer.chosen[i];
    }
    if (complete) keep(core_.lift(problem_, chosen));
    Solution solution = std::move(*best_);
    solution.bound = std::max(solution.bound, std::min(bound, solution.dag_cost));
    const double gap = solution.dag_cost - solution.bound;
    if (proven || gap <= kTolerance * std::max(1.0, std::abs(solution.dag_cost))) {
      solution.bound = solution.dag_cost;
      solution.quality = Quality::kOptimal;
    }
    return solution;
  }

  base::Result<CoreAnswer> solve(const Core& part) {
    const CoreProblem problem(part);
    CoreAnswer known;
    EGRET_ASSIGN_OR_RETURN(const Solution found,
                           extract_local_search(problem.problem(), search_options()));
    known.chosen = problem.chosen(found);
    known.cost = found.dag_cost;
    known.bound = found.bound;
    const auto solver = solver_.make();
    return solve_by_ilp(part, *solver, known, deadline_, options_.should_stop);
  }

  const Problem& problem_;
  const Options& options_;
  const MilpSolverRow& solver_;
  base::Deadline deadline_;
  Core core_;
  std::optional<Solution> best_;
};

}  // namespace

base::Result<Solution> extract_exactly(const Problem& problem, const Options& options) {
  const auto solvers = milp_solvers();
  if (solvers.empty())
    return base::usage_error("extractor 'ilp': this build has neither HiGHS nor CBC");
  return Exact(problem, options, solvers.front()).run();
}

base::Result<Solution> extract_auto(const Problem& problem, const Options& options) {
  return milp_solvers().empty() ? extract_local_search(problem, options)
                                : extract_exactly(problem, options);
}

base::Result<Solution> extract_exactly_with_cbc(const Problem& problem, const Options& options) {
  const auto solvers = milp_solvers();
  const auto cbc = std::ranges::find(solvers, "cbc", &MilpSolverRow::name);
  if (cbc == solvers.end()) return base::usage_error("extractor 'ilp-cbc': this build has no CBC");
  return Exact(problem, options, *cbc).run();
}

namespace extracting {

ExtractorRow automatic() {
  return {"auto", "ilp, or local-search in a build without a solver", &extract_auto};
}

ExtractorRow ilp() {
  return {"ilp", "least DAG cost with a proof, or the gap: reductions and an integer program",
          &extract_exactly};
}

ExtractorRow ilp_cbc() {
  return {"ilp-cbc", "ilp with CBC, also where the build has HiGHS", &extract_exactly_with_cbc};
}

}  // namespace extracting

}  // namespace egret::extract
