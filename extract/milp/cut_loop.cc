// SPDX-License-Identifier: Apache-2.0
#include "extract/milp/cut_loop.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "extract/bounds/dual_ascent.h"
#include "extract/core/choice_walk.h"
#include "extract/greedy/dag_greedy.h"
#include "extract/greedy/local_search.h"
#include "extract/milp/loop_cuts.h"

namespace egret::extract {
namespace {

constexpr double kTolerance = 1e-9;    // of the known cost
constexpr double kSearchShare = 0.05;  // of the time left
constexpr double kPrecision = 0.02;    // of the gap, within which relaxations are solved

// A cutting-plane loop. Each round solves the relaxation, runs dual ascent on its reduced costs for
// bounds and cuts, and adds violated loop cuts and separated cuts. It ends when the gap is closed,
// when no cut was found, or when progress is slow.
class CutLoop {
 public:
  CutLoop(const Core& core, const Milp& program, double known_cost, Relaxation& relaxation,
          const base::Deadline& deadline, const std::function<bool()>& should_stop,
          const TightenOptions& options)
      : core_(core),
        program_(program),
        known_(known_cost),
        relaxation_(relaxation),
        deadline_(deadline),
        should_stop_(should_stop),
        options_(options),
        flat_(core),
        useless_(flat_.size(), false) {
    relaxation_.stop_when(should_stop_);
  }

  base::Result<Tightened> run() {
    constexpr int kMostRounds = 200;
    EGRET_RETURN_IF_ERROR(begin());
    for (int round = 1; round <= kMostRounds && !done(); ++round) {
      EGRET_ASSIGN_OR_RETURN(LpAnswer relaxed, relaxation_.relax(deadline_.remaining(),
                                                                 kPrecision * (known_ - bound_)));
      if (!relaxed.solved) break;
      duals_ = std::move(relaxed.duals);
      const std::size_t before = cuts_.size();
      EGRET_RETURN_IF_ERROR(ascend(static_cast<std::uint64_t>(round)));
      if (options_.searches == Searches::kAround)
        EGRET_RETURN_IF_ERROR(search_around(relaxed.values));
      EGRET_RETURN_IF_ERROR(add_loops(relaxed.values));
      EGRET_RETURN_IF_ERROR(separate(relaxed.values));
      // Without a new cut the next relaxation would be the same.
      if (cuts_.size() == before || is_slow()) break;
    }
    return result();
  }

 private:
  bool done() const {
    return closed() || deadline_.expired() || (should_stop_ && should_stop_()) ||
           static_cast<double>(useless_count_) > options_.enough_useless * flat_.size();
  }
  bool closed() const { return bound_ >= known_ - kTolerance * std::abs(known_); }

  // Whether the last kRounds rounds closed less than kShare of the gap.
  bool is_slow() {
    constexpr std::size_t kRounds = 10;
    constexpr double kShare = 0.03;
    gaps_.push_back(known_ - bound_);
    return gaps_.size() > kRounds &&
           gaps_.back() > (1 - kShare) * gaps_[gaps_.size() - 1 - kRounds];
  }

  DualAscentOptions ascent_options(int refresh) const {
    DualAscentOptions options;
    options.refresh = refresh;
    options.row_price = std::abs(known_) / 200;
    options.should_stop = [this] {
      return deadline_.expired() || (should_stop_ && should_stop_());
    };
    return options;
  }

  // The initial cuts, from the original costs.
  base::Status begin() {
    for (const int refresh : {0, 8}) {
      const DualAscent dual = dual_ascent(core_, flat_, ascent_options(refresh));
      EGRET_RETURN_IF_ERROR(add(dual.rows, Duals::kPrices));
      EGRET_RETURN_IF_ERROR(learn(dual));
    }
    return base::ok();
  }

  // Dual ascent on the relaxation's reduced costs. The prices of the best run are used as dual
  // values of its new rows, so the relaxation continues from there. Any duals give a valid bound:
  // the constant of reduced_costs() plus a bound of the problem with the reduced costs. The
  // relaxation may therefore stop early.
  base::Status ascend(std::uint64_t seed) {
    const double constant = reduced_costs();
    std::vector<DualAscent> ascents;
    // Different intervals give different cuts. The run with random chains differs from round to
    // round.
    for (const int refresh : {1, 8, 0}) {
      DualAscentOptions options = ascent_options(refresh);
      options.costs = rest_;
      if (refresh == 0) options.seed = seed;
      ascents.push_back(dual_ascent(core_, flat_, options));
    }
    const auto best = std::ranges::max_element(ascents, {}, &DualAscent::bound);
    for (DualAscent& dual : ascents) {
      EGRET_RETURN_IF_ERROR(add(dual.rows, &dual == &*best ? Duals::kPrices : Duals::kNone));
      dual.bound += constant;
      EGRET_RETURN_IF_ERROR(learn(dual));
    }
    return base::ok();
  }

  // Searches near the relaxation's solution: candidates with large values get cheap, greedy
  // extraction follows them, and local search improves the result under the true costs. A candidate
  // with the value 1 costs nothing here and one with the value 0 costs its price.
  base::Status search_around(const std::vector<double>& values) {
    CoreProblem guided(core_);
    std::vector<double> costs = guided.costs;
    for (CandidateIndex k = 0; k < flat_.size(); ++k) {
      guided.costs[k] *= 1 - std::clamp(values[k], 0.0, 1.0);
      if (useless_[k]) guided.costs[k] = costs[k] = Milp::kInfinite;
    }
    Options options;
    options.time_limit_s = deadline_.remaining() * kSearchShare;
    options.should_stop = should_stop_;
    std::vector<NodeIndex> choice = cheapest_dags(guided.problem(), options);
    guided.costs = std::move(costs);
    if (walk_choice(guided.problem(), choice).outcome != ChoiceWalk::Outcome::kComplete)
      return base::ok();
    choice = improve_choice(guided.problem(), options, std::move(choice));
    const Solution found = solution_of(guided.problem(), std::move(choice));
    if (found.dag_cost >= known_ - kTolerance * std::abs(known_)) return base::ok();
    known_ = found.dag_cost;
    chosen_ = guided.chosen(found);
    return base::ok();
  }

  base::Status add_loops(const std::vector<double>& values) {
    for (Milp::Row& row : violated_loop_cuts(flat_, values)) {
      EGRET_RETURN_IF_ERROR(relaxation_.add(row, 0));
      cuts_.push_back(std::move(row));
    }
    return base::ok();
  }

  enum class Duals : std::uint8_t { kNone, kPrices };
  // Adds the rows of dual ascent as cuts, scaled to a right side of 1. Rounding a coefficient up
  // keeps a cut valid.
  base::Status add(const std::vector<DualAscent::Row>& rows, Duals duals) {
    constexpr double kLeastCoefficient = 1e-5;
    for (const DualAscent::Row& row : rows) {
      if (row.price < kTolerance * std::abs(known_)) continue;
      std::map<CandidateIndex, double> sums;
      for (const auto& [candidate, charge] : row.charges) sums[candidate] += charge / row.price;
      Milp::Row cut;
      cut.lower = 1;
      for (const auto& [candidate, sum] : sums)
        cut.add(static_cast<int>(candidate), std::clamp(sum, kLeastCoefficient, 1.0));
      EGRET_RETURN_IF_ERROR(relaxation_.add(cut, duals == Duals::kPrices ? row.price : 0));
      cuts_.push_back(std::move(cut));
    }
    return base::ok();
  }

  // Finds cuts that the relaxation's solution violates: its candidates are made cheap, and dual
  // ascent then avoids them. `whole` is the value from which a candidate counts as chosen. Smaller
  // ones make more candidates free, and dual ascent then finds cuts elsewhere. A row is kept only
  // if the solution violates it by at least kLeastViolation.
  base::Status separate(const std::vector<double>& values) {
    constexpr double kLeastViolation = 0.01;
    for (const double whole : {1.0, 0.5, 0.1}) {
      std::vector<double> costs(flat_.size());
      for (CandidateIndex k = 0; k < flat_.size(); ++k) {
        const double share = std::clamp(1 - values[k] / whole, 0.0, 1.0);
        costs[k] = share < 1e-6 ? 0 : flat_.content[k]->cost * share;
      }
      for (const int refresh : {0, 8}) {
        DualAscentOptions options = ascent_options(refresh);
        options.costs = costs;
        DualAscent dual = dual_ascent(core_, flat_, options);
        std::erase_if(dual.rows, [&](const DualAscent::Row& row) {
          double sum = 0;
          for (const auto& [candidate, charge] : row.charges) sum += charge * values[candidate];
          return sum > (1 - kLeastViolation) * row.price;
        });
        EGRET_RETURN_IF_ERROR(add(dual.rows, Duals::kNone));
      }
    }
    return base::ok();
  }

  // Uses a bound: candidates whose least cost exceeds the known answer are useless and fixed to 0
  // (reduced-cost fixing).
  base::Status learn(const DualAscent& dual) {
    bound_ = std::max(bound_, dual.bound);
    const std::vector<double> least = least_costs(core_, flat_, dual);
    for (CandidateIndex k = 0; k < least.size(); ++k) {
      if (useless_[k] || least[k] <= known_ + kTolerance * std::abs(known_)) continue;
      useless_[k] = true;
      ++useless_count_;
      EGRET_RETURN_IF_ERROR(relaxation_.forbid(static_cast<int>(k)));
    }
    return base::ok();
  }

  // Writes the candidates' reduced costs to rest_. Returns the remaining constant of the Lagrangian
  // bound. The bound is valid for all duals (weak duality); duals of the wrong sign, whose row side
  // is infinite, are skipped.
  double reduced_costs() {
    std::vector<double> reduced;
    for (const Milp::Column& column : program_.columns) reduced.push_back(column.cost);
    double constant = 0;
    for (std::size_t i = 0; i < duals_.size(); ++i) {
      const bool given = i < program_.rows.size();
      const Milp::Row& row = given ? program_.rows[i] : cuts_[i - program_.rows.size()];
      const double side = duals_[i] > 0 ? row.lower : row.upper;
      if (duals_[i] == 0 || !std::isfinite(side)) continue;
      constant += duals_[i] * side;
      for (std::size_t j = 0; j < row.columns.size(); ++j)
        reduced[static_cast<std::size_t>(row.columns[j])] -= duals_[i] * row.values[j];
    }
    rest_.assign(flat_.size(), 0);
    for (std::size_t j = 0; j < reduced.size(); ++j) {
      // Candidates keep their positive reduced cost; a negative one counts in full, because the
      // candidate may be chosen. Other columns take their cheaper bound.
      const Milp::Column& column = program_.columns[j];
      if (j >= flat_.size()) {
        constant += std::min(reduced[j] * column.lower, reduced[j] * column.upper);
      } else if (reduced[j] < 0) {
        constant += useless_[j] ? 0 : reduced[j];
      } else if (reduced[j] > kTolerance * std::abs(known_)) {
        rest_[j] = reduced[j];
      }
    }
    return constant;
  }

  // A row with a dual of 0 does not bind at the relaxation's optimum, so the solver loses little
  // without it.
  Tightened result() {
    Tightened result{bound_, std::move(chosen_), known_, {}, {}};
    // Cuts with a dual of 0 in the last relaxation are dropped. Cuts added after it are kept.
    for (std::size_t i = 0; i < cuts_.size(); ++i) {
      const std::size_t row = program_.rows.size() + i;
      const bool slack = row < duals_.size() && duals_[row] <= 0;
      if (!slack) result.cuts.push_back(std::move(cuts_[i]));
    }
    for (CandidateIndex k = 0; k < useless_.size(); ++k) {
      if (useless_[k]) result.useless.push_back(static_cast<int>(k));
    }
    return result;
  }

  const Core& core_;
  const Milp& program_;
  double known_;                   // cost of the best answer
  std::vector<NodeIndex> chosen_;  // that answer, when it was found here
  Relaxation& relaxation_;
  const base::Deadline& deadline_;
  const std::function<bool()>& should_stop_;
  const TightenOptions& options_;
  FlatCore flat_;
  std::vector<bool> useless_;  // per candidate
  std::size_t useless_count_ = 0;
  std::vector<Milp::Row> cuts_;
  std::vector<double> duals_;  // of the program's rows, then of the cuts
  std::vector<double> rest_;   // per candidate
  double bound_ = 0;
  std::vector<double> gaps_;  // after each round
};

}  // namespace

base::Result<Tightened> tighten(const Core& core, const Milp& program, double known_cost,
                                Relaxation& relaxation, const base::Deadline& deadline,
                                const std::function<bool()>& should_stop,
                                const TightenOptions& options) {
  return CutLoop(core, program, known_cost, relaxation, deadline, should_stop, options).run();
}

}  // namespace egret::extract
