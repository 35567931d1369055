// SPDX-License-Identifier: Apache-2.0
// Linear relaxations too large for the simplex method: the primal-dual hybrid gradient method
// (Chambolle, Pock 2011) with scaling, averages, restarts and steps as in PDLP (Applegate et al.
// 2021). No factorization: an iteration is two products with the matrix. It goes on from where the
// last call ended, so rows may be added in between at little cost.
//
// Most rows that were once violated bind no more after a while, and they are what an iteration
// takes the longest for: rows that some answers in turn did not need rest until one violates them.
//
// What it returns is near the solution, not at it. All columns have bounds, so any duals of the
// right signs prove something, and cuts and dual ascent take it from there
// (extract/milp/cut_loop.h).
#pragma once

#include <vector>

#include "extract/milp/milp.h"

namespace egret::extract {

class PrimalDualLp final : public Relaxation {
 public:
  // All columns are bounded.
  explicit PrimalDualLp(Milp program);

  base::Status add(const Milp::Row& row, double dual) override;
  base::Status forbid(int column) override;
  base::Result<LpAnswer> relax(double seconds, double gap) override;

 private:
  bool holds(const Milp::Row& row) const;  // for x_
  std::vector<std::size_t> rows_at_work();

  Milp program_;
  std::vector<double> x_;
  std::vector<double> y_;
  std::vector<int> idle_;  // per row: how many answers in turn did not need it
  double weight_ = 0;      // of the primal distance against the dual one; 0: not known yet
};

}  // namespace egret::extract
