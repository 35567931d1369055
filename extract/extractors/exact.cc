// SPDX-License-Identifier: Apache-2.0
#include "extract/extractors/exact.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/timer.h"
#include "extract/choice_walk.h"
#include "extract/components.h"
#include "extract/core_ilp.h"
#include "extract/dual_ascent.h"
#include "extract/extractors/dag_greedy.h"
#include "extract/extractors/local_search.h"
#include "extract/reduce.h"

namespace egret::extract {
namespace {

constexpr double kTolerance = 1e-9;  // of the cost
constexpr double kTiny = 1e-12;

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
      ascend();
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

  // Takes away what dual ascent shows to be too dear, and looks for better answers among what it
  // leaves nothing of.
  void ascend() {
    constexpr std::array kRefresh = {0, 1, 8, 64};
    if (core_.has_negative_costs()) return;
    for (std::size_t round = 0; round < kRefresh.size() && !core_.classes.empty(); ++round) {
      const FlatCore flat(core_);
      const DualAscent dual =
          dual_ascent(core_, flat, {.refresh = kRefresh[round], .should_stop = stop()});
      search_charged(flat, dual);
      bound_ = std::max(bound_, core_.paid + dual.bound);
      if (is_closed() || stop()()) return;
      if (drop_dear(flat, dual)) reduce(core_, problem_, {best_->dag_cost, stop()});
    }
  }
  bool drop_dear(const FlatCore& flat, const DualAscent& dual) {
    const std::vector<double> least = least_costs(core_, flat, dual);
    const double most = best_->dag_cost - core_.paid + kTolerance * std::abs(best_->dag_cost);
    bool dropped = false;
    CandidateIndex next = 0;
    for (auto& candidates : core_.classes) {
      const auto gone =
          std::erase_if(candidates, [&](const Candidate&) { return least[next++] > most; });
      dropped = dropped || gone > 0;
    }
    return dropped;
  }
  void search_charged(const FlatCore& flat, const DualAscent& dual) {
    CoreProblem core(core_);
    for (CandidateIndex k = 0; k < flat.size(); ++k) {
      if (dual.rest[k] > 0) core.costs[k] = kInfinite;
    }
    const Problem problem = core.problem();
    std::vector<NodeIndex> choice = cheapest_dags(problem, search_options());
    if (walk_choice(problem, choice).outcome != ChoiceWalk::Outcome::kComplete) return;
    choice = improve_choice(problem, search_options(), std::move(choice));
    keep(core_.lift(problem_, core.chosen(solution_of(problem, std::move(choice)))));
  }
  bool is_closed() const {
    return best_ &&
           best_->dag_cost - bound_ <= kTolerance * std::max(kTiny, std::abs(best_->dag_cost));
  }

  base::Result<Solution> solve_parts() {
    if (is_closed()) return finished(true);
    std::vector<Part> parts = connected_parts(core_);
    std::ranges::stable_sort(parts, {}, [](const Part& p) { return p.core.candidate_count(); });
    std::vector<NodeIndex> chosen(core_.classes.size(), kNoNode);
    double bound = core_.paid;
    bool complete = true;
    bool proven = true;
    for (Part& part : parts) {
      EGRET_ASSIGN_OR_RETURN(const CoreAnswer answer, solve(part.core));
      bound += answer.bound;
      proven = proven && answer.proven;
      complete = complete && !answer.chosen.empty();
      for (std::size_t i = 0; i < answer.chosen.size(); ++i)
        chosen[part.origin[i]] = answer.chosen[i];
    }
    if (complete) keep(core_.lift(problem_, chosen));
    bound_ = std::max(bound_, bound);
    return finished(proven || is_closed());
  }
  Solution finished(bool proven) {
    Solution solution = std::move(*best_);
    solution.bound = std::max(solution.bound, std::min(bound_, solution.dag_cost));
    if (proven) {
      solution.bound = solution.dag_cost;
      solution.quality = Quality::kOptimal;
    }
    return solution;
  }

  base::Result<CoreAnswer> solve(Core& part) {
    const double scale = brought_to_scale(part);
    const CoreProblem problem(part);
    CoreAnswer known;
    EGRET_ASSIGN_OR_RETURN(const Solution found,
                           extract_local_search(problem.problem(), search_options()));
    known.chosen = problem.chosen(found);
    known.cost = found.dag_cost;
    known.bound = found.bound;
    const auto solver = solver_.make();
    EGRET_ASSIGN_OR_RETURN(CoreAnswer answer,
                           solve_by_ilp(part, *solver, known, deadline_, options_.should_stop));
    answer.cost /= scale;
    answer.bound /= scale;
    return answer;
  }
  // Solvers have absolute tolerances, which costs in seconds fall below. A power of two, so that
  // nothing is rounded; whole numbers stay as they are.
  double brought_to_scale(Core& part) const {
    constexpr int kBits = 14;  // of the whole's cost
    double all = 0;
    bool whole = true;
    for (const auto& candidates : part.classes) {
      for (const Candidate& candidate : candidates) {
        whole = whole && candidate.cost == std::round(candidate.cost);
        all = std::max(all, std::abs(best_->dag_cost));
      }
    }
    if (whole || all == 0) return 1;
    const double scale = std::exp2(kBits - std::ceil(std::log2(all)));
    for (auto& candidates : part.classes) {
      for (Candidate& candidate : candidates) candidate.cost *= scale;
    }
    return scale;
  }

  const Problem& problem_;
  const Options& options_;
  const MilpSolverRow& solver_;
  base::Deadline deadline_;
  Core core_;
  std::optional<Solution> best_;
  double bound_ = -kInfinite;  // of the problem's answers
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
