// SPDX-License-Identifier: Apache-2.0
// CBC (Forrest et al., COIN-OR) through its C interface. A CBC model cannot be solved twice, so
// each solve() makes a new one. The library is opened by the first.
#include "extract/milp/milp_cbc.h"

#include <algorithm>
#include <cmath>

#include "extract/milp/cbc_library.h"

namespace egret::extract {
namespace {

struct Deleter {
  const CbcFunctions* cbc;
  void operator()(Cbc_Model* model) const { cbc->deleteModel(model); }
};
using Model = std::unique_ptr<Cbc_Model, Deleter>;

class Cbc : public MilpSolver {
 public:
  base::Status load(const Milp& milp) override {
    milp_ = milp;
    start_.clear();
    gap_ = 1e-9;
    return base::ok();
  }
  base::Status add(const Milp::Row& row, double /*dual*/) override {
    milp_.rows.push_back(row);
    return base::ok();
  }
  void start_from(std::span<const double> values) override {
    start_.assign(values.begin(), values.end());
  }
  void set_gap(double gap) override { gap_ = gap; }
  base::Status forbid(int column) override {
    milp_.columns[static_cast<std::size_t>(column)].upper = 0;
    return base::ok();
  }
  base::Result<LpAnswer> relax(double /*seconds*/, double /*gap*/) override { return LpAnswer{}; }

  base::Result<MilpAnswer> solve(double seconds) override {
    EGRET_ASSIGN_OR_RETURN(const CbcFunctions* const cbc, cbc_functions());
    const Model model = make(*cbc);
    cbc->setMaximumSeconds(model.get(), std::min(seconds, 1e9));
    cbc->solve(model.get());
    MilpAnswer answer;
    answer.infeasible = cbc->isProvenInfeasible(model.get()) != 0;
    answer.proven = cbc->isProvenOptimal(model.get()) != 0;
    const double bound = cbc->getBestPossibleObjValue(model.get());
    if (std::abs(bound) < 1e30) answer.bound = bound;
    if (const double* best = cbc->bestSolution(model.get()); best != nullptr && !answer.infeasible)
      answer.values.assign(best, best + milp_.columns.size());
    // CBC's bound may lag behind an answer that it has proven.
    if (answer.proven) answer.bound = cbc->getObjValue(model.get()) - gap_;
    return answer;
  }

 private:
  // Builds the matrix column-wise, as CBC expects.
  Model make(const CbcFunctions& cbc) const {
    const std::size_t columns = milp_.columns.size();
    std::vector<CoinBigIndex> begin(columns + 1, 0);
    for (const Milp::Row& row : milp_.rows) {
      for (const int column : row.columns) ++begin[static_cast<std::size_t>(column) + 1];
    }
    for (std::size_t c = 0; c < columns; ++c) begin[c + 1] += begin[c];
    std::vector<int> index(static_cast<std::size_t>(begin.back()));
    std::vector<double> values(index.size());
    std::vector<CoinBigIndex> next(begin.begin(), begin.end() - 1);
    std::vector<double> row_lower, row_upper;
    for (std::size_t r = 0; r < milp_.rows.size(); ++r) {
      const Milp::Row& row = milp_.rows[r];
      for (std::size_t i = 0; i < row.columns.size(); ++i) {
        const auto at = static_cast<std::size_t>(next[static_cast<std::size_t>(row.columns[i])]++);
        index[at] = static_cast<int>(r);
        values[at] = row.values[i];
      }
      row_lower.push_back(row.lower);
      row_upper.push_back(row.upper);
    }
    std::vector<double> cost, lower, upper;
    for (const Milp::Column& column : milp_.columns) {
      cost.push_back(column.cost);
      lower.push_back(column.lower);
      upper.push_back(column.upper);
    }
    Model model(cbc.newModel(), Deleter{&cbc});
    cbc.setLogLevel(model.get(), 0);
    cbc.loadProblem(model.get(), static_cast<int>(columns), static_cast<int>(milp_.rows.size()),
                    begin.data(), index.data(), values.data(), lower.data(), upper.data(),
                    cost.data(), row_lower.data(), row_upper.data());
    std::vector<int> all;
    for (std::size_t c = 0; c < columns; ++c) {
      all.push_back(static_cast<int>(c));
      if (milp_.columns[c].integer) cbc.setInteger(model.get(), static_cast<int>(c));
    }
    cbc.setAllowableGap(model.get(), gap_);
    if (start_.size() == columns)
      cbc.setMIPStartI(model.get(), static_cast<int>(columns), all.data(), start_.data());
    return model;
  }

  Milp milp_;
  std::vector<double> start_;
  double gap_ = 1e-9;
};

}  // namespace

std::unique_ptr<MilpSolver> make_cbc() { return std::make_unique<Cbc>(); }

}  // namespace egret::extract
