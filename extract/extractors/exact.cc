// SPDX-License-Identifier: Apache-2.0
// Least DAG cost, proven if time allows. Steps: reductions, local search for an incumbent, further
// reductions, dual ascent, and an exact method for each remaining part. On a time-out it returns
// the best answer and the proven bound.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/timer.h"
#include "extract/bounds/dear_candidates.h"
#include "extract/bounds/semidefinite_bound.h"
#include "extract/core/choice_walk.h"
#include "extract/core/components.h"
#include "extract/extractors/elimination.h"
#include "extract/greedy/dag_greedy.h"
#include "extract/greedy/local_search.h"
#include "extract/milp/core_ilp.h"
#include "extract/milp/core_maxsat.h"
#include "extract/reduce/reduce.h"

namespace egret::extract {
namespace {

constexpr double kTolerance = 1e-9;  // of the cost
constexpr double kTiny = 1e-12;

// The share of the time for the search for an incumbent.
constexpr double kSearchShare = 0.1;

// The methods for the parts that reductions leave, tried in order of declaration; with none of
// them, a part keeps its known answer. If MaxSAT suits, it gets a share of the remaining time.
// Before that, the integer program gets a small share for what it decides at once.
struct Method {
  EliminationLimits elimination{.width = 0, .entries = 0};
  double quick_share = 0;
  double maxsat_share = 0;
  const MilpSolverRow* solver = nullptr;
  bool branches_first = true;  // IlpOptions
};

class Exact {
 public:
  Exact(const Problem& problem, const Options& options, const Method& method)
      : problem_(problem),
        options_(options),
        method_(method),
        deadline_(base::Deadline::after(options.time_limit_s)) {}

  // Adds a starting answer; the best one is kept.
  void start_from(std::vector<NodeIndex> choice) { keep(std::move(choice)); }

  base::Result<Solution> run() {
    EGRET_ASSIGN_OR_RETURN(core_, Core::of(problem_));
    reduce(core_, problem_, {best_ ? best_->dag_cost : kInfinite, stop()});
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

  // Finds some answer of the whole problem.
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

  // Drops candidates that dual ascent proves too expensive. Searches for better answers among the
  // fully charged candidates. Each round measures the chains at other intervals, so it finds other
  // cuts. A round that drops candidates makes the next one start from a smaller core.
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
      if (drop_dear(core_, flat, dual, best_->dag_cost))
        reduce(core_, problem_, {best_->dag_cost, stop()});
    }
  }
  // If the bound is tight, every optimal answer uses only candidates without remaining cost. The
  // search is restricted to these.
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

  // Each part has an optimum of its own. The whole is proven if every part is, or if the sum of the
  // bounds meets the incumbent.
  base::Result<Solution> solve_parts() {
    if (is_closed()) return finished(true);
    std::vector<Part> parts = connected_parts(core_);
    std::ranges::stable_sort(parts, {}, [](const Part& p) { return p.core.candidate_count(); });
    // The parts share no class, so their optimal costs and their bounds add up.
    std::vector<NodeIndex> chosen(core_.classes.size(), kNoNode);
    double bound = core_.paid;
    bool complete = true;
    bool proven = true;
    // The smallest part first. Time that a part does not use goes to the others.
    std::size_t left = parts.size();
    for (Part& part : parts) {
      // An equal share of the time that is left for each part that is left.
      part_deadline_ = base::Deadline::after(deadline_.remaining() / static_cast<double>(left--));
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
    solution.notes = std::move(notes_);
    return solution;
  }

  // Some answer of a part: the best answer of the whole, if its candidates still exist, or a new
  // one.
  base::Result<Solution> some_answer(const Core& part, const CoreProblem& core) {
    const Problem problem = core.problem();
    EGRET_ASSIGN_OR_RETURN(Solution found, extract_local_search(problem, search_options()));
    std::vector<NodeIndex> best = core.choice(part.left_of(problem_, best_->choice));
    if (walk_choice(problem, best).outcome != ChoiceWalk::Outcome::kComplete) return found;
    Solution kept = solution_of(problem, std::move(best));
    return kept.dag_cost < found.dag_cost ? std::move(kept) : std::move(found);
  }

  // Tables if the part is narrow. Otherwise the solvers start from a known answer and a bound, on
  // scaled costs.
  base::Result<CoreAnswer> solve(Core& part) {
    if (method_.elimination.entries > 0) {
      auto answer =
          solve_by_elimination(part, method_.elimination, part_deadline_, options_.should_stop);
      if (answer) return std::move(*answer);
    }
    // The costs of `part` are scaled from here on. The scale is a power of two, so it is undone
    // without error.
    const double scale = part.bring_to_scale(best_->dag_cost);
    const CoreProblem problem(part);
    EGRET_ASSIGN_OR_RETURN(const Solution found, some_answer(part, problem));
    CoreAnswer known;
    known.chosen = problem.chosen(found);
    known.cost = found.dag_cost;
    known.bound = found.bound;
    // Every cost of an answer is a multiple of the granularity, so a bound may be rounded up to
    // one.
    if (const auto bound = semidefinite_bound(part, part_deadline_))
      known.bound = std::max(known.bound, part.raised(*bound));
    known.proven = known.is_closed();
    EGRET_ASSIGN_OR_RETURN(CoreAnswer answer, solve_wide(part, std::move(known)));
    answer.cost /= scale;
    answer.bound /= scale;
    return answer;
  }
  // The integer program gets a short first try, then MaxSAT, then the integer program again with
  // the remaining time. Each starts from the best answer so far.
  base::Result<CoreAnswer> solve_wide(const Core& part, CoreAnswer best) {
    if (method_.maxsat_share > 0 && suits_maxsat(part)) {
      EGRET_RETURN_IF_ERROR(branch(part, best, method_.quick_share));
      EGRET_RETURN_IF_ERROR(learn(part, best));
    }
    EGRET_RETURN_IF_ERROR(branch(part, best, 1));
    return best;
  }
  base::Status learn(const Core& part, CoreAnswer& best) {
    if (best.proven) return base::ok();
    const auto until = base::Deadline::after(method_.maxsat_share * part_deadline_.remaining());
    EGRET_ASSIGN_OR_RETURN(best, solve_by_maxsat(part, best, until, options_.should_stop));
    name_solver(best, "z3");
    return base::ok();
  }
  base::Status branch(const Core& part, CoreAnswer& best, double share) {
    if (best.proven || method_.solver == nullptr || share == 0) return base::ok();
    if (options_.should_stop && options_.should_stop()) return base::ok();
    const auto until = base::Deadline::after(share * part_deadline_.remaining());
    const auto solver = method_.solver->make();
    EGRET_ASSIGN_OR_RETURN(best, solve_by_ilp(part, *solver, best, until, options_.should_stop,
                                              {.branches_first = method_.branches_first}));
    name_solver(best, method_.solver->name);
    return best.useless.empty() ? base::ok() : solve_without_useless(part, best, until);
  }
  // Without the useless candidates the part is a new problem: it may reduce, decompose or be
  // narrow. The methods that were already tried first are skipped.
  base::Status solve_without_useless(const Core& part, CoreAnswer& best,
                                     const base::Deadline& deadline) {
    CoreProblem rest(part);
    for (const int k : best.useless) rest.costs[static_cast<std::size_t>(k)] = kInfinite;
    best.useless.clear();
    Options options = options_;
    options.time_limit_s = deadline.remaining();
    const Problem problem = rest.problem();
    Method method = method_;
    method.maxsat_share = 0;
    method.branches_first = false;
    Exact exact(problem, options, method);
    exact.start_from(rest.choice(best.chosen));
    EGRET_ASSIGN_OR_RETURN(const Solution found, exact.run());
    notes_.insert(notes_.end(), found.notes.begin(), found.notes.end());
    if (found.dag_cost < best.cost) {
      best.chosen = rest.chosen(found);
      best.cost = found.dag_cost;
    }
    best.bound = std::max(best.bound, std::min(best.cost, found.bound));
    best.proven = found.quality == Quality::kOptimal || best.is_closed();
    return base::ok();
  }
  // Moves the solver's notes to notes_, prefixed with its name.
  void name_solver(CoreAnswer& answer, std::string_view solver) {
    for (const std::string& note : answer.notes) {
      std::string told = "the solver " + std::string(solver) + " " + note;
      if (std::ranges::find(notes_, told) == notes_.end()) notes_.push_back(std::move(told));
    }
    answer.notes.clear();
  }

  const Problem& problem_;
  const Options& options_;
  const Method& method_;
  base::Deadline deadline_;
  base::Deadline part_deadline_;  // of the part that is being solved
  Core core_;
  std::optional<Solution> best_;
  double bound_ = -kInfinite;  // of the problem's answers
  std::vector<std::string> notes_;
};

// Up to this width, tables are faster than a solver.
constexpr EliminationLimits kQuick{.width = 11, .entries = std::size_t{1} << 21};

// What MaxSAT proves, it mostly proves within seconds.
constexpr double kMaxsatShare = 0.2;
constexpr double kQuickShare = 0.03;

base::Result<Solution> extract_auto(const Problem& problem, const Options& options) {
  const auto solvers = milp_solvers();
  const Method method{.elimination = kQuick,
                      .quick_share = kQuickShare,
                      .maxsat_share = kMaxsatShare,
                      .solver = solvers.empty() ? nullptr : &solvers.front()};
  return Exact(problem, options, method).run();
}

base::Result<Solution> extract_narrow(const Problem& problem, const Options& options) {
  return Exact(problem, options, {.elimination = EliminationLimits{}}).run();
}

base::Result<Solution> extract_by_maxsat(const Problem& problem, const Options& options) {
  return Exact(problem, options, {.maxsat_share = 1}).run();
}

// Uses the named solver, or the best available one.
base::Result<Solution> extract_by_solver(const Problem& problem, const Options& options,
                                         std::string_view extractor, std::string_view name) {
  const auto solvers = milp_solvers();
  const auto solver = std::ranges::find_if(
      solvers, [&](const MilpSolverRow& row) { return name.empty() || row.name == name; });
  if (solver == solvers.end()) {
    return base::usage_error("extractor '" + std::string(extractor) + "': this build lacks " +
                             (name.empty() ? "HiGHS and CBC" : "CBC"));
  }
  return Exact(problem, options, {.solver = &*solver}).run();
}

base::Result<Solution> extract_exactly(const Problem& problem, const Options& options) {
  return extract_by_solver(problem, options, "ilp", "");
}

base::Result<Solution> extract_exactly_with_cbc(const Problem& problem, const Options& options) {
  return extract_by_solver(problem, options, "ilp-cbc", "cbc");
}

}  // namespace

namespace extracting {

ExtractorRow automatic() {
  return {"auto", "least DAG cost with a proof, or the gap: tables where narrow, maxsat, then ilp",
          &extract_auto};
}

ExtractorRow treewidth() {
  return {"treewidth", "reductions, and dynamic programming over a tree decomposition where narrow",
          &extract_narrow};
}

ExtractorRow maxsat() {
  return {"maxsat",
          "reductions, and a search that learns from conflicts (Z3), for costs in whole numbers",
          &extract_by_maxsat};
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
