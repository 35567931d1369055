// SPDX-License-Identifier: Apache-2.0
#include "extract/cut_loop.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "extract/dual_ascent.h"

namespace egret::extract {
namespace {

constexpr double kTolerance = 1e-9;  // of the known cost

class CutLoop {
 public:
  CutLoop(const Core& core, const Milp& program, double known_cost, MilpSolver& solver,
          const base::Deadline& deadline, const std::function<bool()>& should_stop)
      : core_(core),
        program_(program),
        known_(known_cost),
        solver_(solver),
        deadline_(deadline),
        should_stop_(should_stop),
        flat_(core),
        useless_(flat_.size(), false) {}

  base::Result<Tightened> run() {
    constexpr int kMostRounds = 200;
    constexpr std::size_t kMostCuts = 6000;
    EGRET_RETURN_IF_ERROR(begin());
    for (int round = 0; round < kMostRounds && cuts_.size() < kMostCuts && !done(); ++round) {
      EGRET_ASSIGN_OR_RETURN(LpAnswer relaxed, solver_.relax(deadline_.remaining()));
      if (!relaxed.solved) break;
      duals_ = std::move(relaxed.duals);
      const double constant = reduced_costs();
      std::size_t added = 0;
      for (const int refresh : {1, 8, 0}) {
        DualAscentOptions options = ascent_options(refresh);
        options.costs = rest_;
        if (refresh == 0) options.seed = static_cast<std::uint64_t>(round) + 1;
        DualAscent dual = dual_ascent(core_, flat_, options);
        EGRET_RETURN_IF_ERROR(add(dual.rows));
        added += dual.rows.size();
        dual.bound += constant;
        EGRET_RETURN_IF_ERROR(learn(dual));
      }
      EGRET_ASSIGN_OR_RETURN(const std::size_t separated, separate(relaxed.values));
      added += separated;
      if (added == 0 || is_slow()) break;
    }
    return result();
  }

 private:
  bool done() const { return closed() || deadline_.expired() || (should_stop_ && should_stop_()); }
  bool closed() const { return bound_ >= known_ - kTolerance * std::abs(known_); }

  // Less than this of the gap is closed in some rounds.
  bool is_slow() {
    constexpr std::size_t kRounds = 8;
    constexpr double kShare = 0.05;
    gaps_.push_back(known_ - bound_);
    return gaps_.size() > kRounds &&
           gaps_.back() > (1 - kShare) * gaps_[gaps_.size() - 1 - kRounds];
  }

  DualAscentOptions ascent_options(int refresh) const {
    DualAscentOptions options;
    options.refresh = refresh;
    options.row_price = std::abs(known_) / 200;
    options.should_stop = [this] { return deadline_.expired(); };
    return options;
  }

  // Cuts from the costs as they are.
  base::Status begin() {
    for (const int refresh : {0, 8}) {
      const DualAscent dual = dual_ascent(core_, flat_, ascent_options(refresh));
      EGRET_RETURN_IF_ERROR(add(dual.rows));
      EGRET_RETURN_IF_ERROR(learn(dual));
    }
    return base::ok();
  }

  // A coefficient that is rounded up leaves the row valid.
  base::Status add(const std::vector<DualAscent::Row>& rows) {
    constexpr double kLeastCoefficient = 1e-5;
    for (const DualAscent::Row& row : rows) {
      if (row.price < kTolerance * std::abs(known_)) continue;
      std::map<CandidateIndex, double> sums;
      for (const auto& [candidate, charge] : row.charges) sums[candidate] += charge / row.price;
      Milp::Row cut;
      cut.lower = 1;
      for (const auto& [candidate, sum] : sums)
        cut.add(static_cast<int>(candidate), std::clamp(sum, kLeastCoefficient, 1.0));
      EGRET_RETURN_IF_ERROR(solver_.add(cut));
      cuts_.push_back(std::move(cut));
    }
    return base::ok();
  }

  // Cuts that the relaxation's answer violates: its candidates are made cheap, and dual ascent goes
  // around them.
  base::Result<std::size_t> separate(const std::vector<double>& values) {
    constexpr double kLeastViolation = 0.01;
    std::size_t added = 0;
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
        added += dual.rows.size();
        EGRET_RETURN_IF_ERROR(add(dual.rows));
      }
    }
    return added;
  }

  base::Status learn(const DualAscent& dual) {
    bound_ = std::max(bound_, dual.bound);
    const std::vector<double> least = least_costs(core_, flat_, dual);
    for (CandidateIndex k = 0; k < least.size(); ++k) {
      if (useless_[k] || least[k] <= known_ + kTolerance * std::abs(known_)) continue;
      useless_[k] = true;
      EGRET_RETURN_IF_ERROR(solver_.forbid(static_cast<int>(k)));
    }
    return base::ok();
  }

  // Of the candidates, into rest_. Returns what each answer costs beside them at least. Whatever
  // the duals are, that is true (weak duality): wrong signs are left out.
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

  Tightened result() {
    Tightened result{bound_, {}, {}};
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
  const double known_;
  MilpSolver& solver_;
  const base::Deadline& deadline_;
  const std::function<bool()>& should_stop_;
  FlatCore flat_;
  std::vector<bool> useless_;  // per candidate
  std::vector<Milp::Row> cuts_;
  std::vector<double> duals_;  // of the program's rows, then of the cuts
  std::vector<double> rest_;   // per candidate
  double bound_ = 0;
  std::vector<double> gaps_;  // after each round
};

}  // namespace

base::Result<Tightened> tighten(const Core& core, const Milp& program, double known_cost,
                                MilpSolver& solver, const base::Deadline& deadline,
                                const std::function<bool()>& should_stop) {
  return CutLoop(core, program, known_cost, solver, deadline, should_stop).run();
}

}  // namespace egret::extract
