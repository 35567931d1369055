// SPDX-License-Identifier: Apache-2.0
// HiGHS (Huangfu, Hall 2018) through its C interface. One thread and a fixed seed make it
// deterministic unless time runs out.
#include "extract/milp/milp_highs.h"

#include <algorithm>
#include <string>

#include "interfaces/highs_c_api.h"

namespace egret::extract {
namespace {

class Highs : public MilpSolver {
 public:
  Highs() : highs_(Highs_create()) {
    Highs_setBoolOptionValue(highs_, "output_flag", 0);
    Highs_setIntOptionValue(highs_, "threads", 1);
    Highs_setIntOptionValue(highs_, "random_seed", 0);
    Highs_setDoubleOptionValue(highs_, "mip_rel_gap", 0);
    Highs_setDoubleOptionValue(highs_, "mip_abs_gap", 1e-9);
  }
  ~Highs() override { Highs_destroy(highs_); }
  Highs(const Highs&) = delete;
  Highs& operator=(const Highs&) = delete;

  base::Status load(const Milp& milp) override {
    std::vector<double> cost, lower, upper;
    std::vector<HighsInt> integrality;
    for (const Milp::Column& column : milp.columns) {
      cost.push_back(column.cost);
      lower.push_back(column.lower);
      upper.push_back(column.upper);
      integrality.push_back(column.integer ? kHighsVarTypeInteger : kHighsVarTypeContinuous);
    }
    std::vector<double> row_lower, row_upper, values;
    std::vector<HighsInt> begin, index;
    for (const Milp::Row& row : milp.rows) {
      row_lower.push_back(row.lower);
      row_upper.push_back(row.upper);
      begin.push_back(static_cast<HighsInt>(index.size()));
      index.insert(index.end(), row.columns.begin(), row.columns.end());
      values.insert(values.end(), row.values.begin(), row.values.end());
    }
    columns_ = milp.columns.size();
    const HighsInt status = Highs_passMip(
        highs_, static_cast<HighsInt>(columns_), static_cast<HighsInt>(milp.rows.size()),
        static_cast<HighsInt>(index.size()), kHighsMatrixFormatRowwise, kHighsObjSenseMinimize, 0,
        cost.data(), lower.data(), upper.data(), row_lower.data(), row_upper.data(), begin.data(),
        index.data(), values.data(), integrality.data());
    return failed(status) ? refused("a model") : base::ok();
  }

  base::Status add(const Milp::Row& row, double /*dual*/) override {
    const HighsInt status =
        Highs_addRow(highs_, row.lower, row.upper, static_cast<HighsInt>(row.columns.size()),
                     row.columns.data(), row.values.data());
    return failed(status) ? refused("a row") : base::ok();
  }

  void start_from(std::span<const double> values) override {
    Highs_setSolution(highs_, values.data(), nullptr, nullptr, nullptr);
  }

  void set_gap(double gap) override { Highs_setDoubleOptionValue(highs_, "mip_abs_gap", gap); }

  base::Status forbid(int column) override {
    return failed(Highs_changeColBounds(highs_, column, 0, 0)) ? refused("a bound") : base::ok();
  }

  base::Result<LpAnswer> relax(double seconds, double /*gap*/) override {
    Highs_setBoolOptionValue(highs_, "solve_relaxation", 1);
    Highs_setDoubleOptionValue(highs_, "time_limit", Highs_getRunTime(highs_) + seconds);
    const HighsInt run = Highs_run(highs_);
    Highs_setBoolOptionValue(highs_, "solve_relaxation", 0);
    if (failed(run)) return refused("to solve a relaxation");
    LpAnswer answer;
    answer.solved = Highs_getModelStatus(highs_) == kHighsModelStatusOptimal;
    if (!answer.solved) return answer;
    answer.duals.resize(static_cast<std::size_t>(Highs_getNumRow(highs_)));
    answer.values.resize(columns_);
    Highs_getSolution(highs_, answer.values.data(), nullptr, nullptr, answer.duals.data());
    return answer;
  }

  base::Result<MilpAnswer> solve(double seconds) override {
    // HiGHS's clock accumulates over all runs.
    Highs_setDoubleOptionValue(highs_, "time_limit", Highs_getRunTime(highs_) + seconds);
    if (failed(Highs_run(highs_))) return refused("to solve");
    MilpAnswer answer;
    const HighsInt status = Highs_getModelStatus(highs_);
    answer.infeasible = status == kHighsModelStatusInfeasible;
    answer.proven = status == kHighsModelStatusOptimal;
    Highs_getDoubleInfoValue(highs_, "mip_dual_bound", &answer.bound);
    HighsInt found = 0;
    Highs_getIntInfoValue(highs_, "primal_solution_status", &found);
    if (found == kHighsSolutionStatusFeasible) {
      answer.values.resize(columns_);
      Highs_getSolution(highs_, answer.values.data(), nullptr, nullptr, nullptr);
    }
    return answer;
  }

 private:
  static bool failed(HighsInt status) { return status == kHighsStatusError; }
  static base::Status refused(const std::string& what) {
    return base::internal_error("HiGHS refused " + what);
  }

  void* highs_;
  std::size_t columns_ = 0;
};

}  // namespace

std::unique_ptr<MilpSolver> make_highs() { return std::make_unique<Highs>(); }

}  // namespace egret::extract
