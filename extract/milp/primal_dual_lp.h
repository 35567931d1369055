// SPDX-License-Identifier: Apache-2.0
// Solves linear relaxations that are too large for the simplex method, by the primal-dual hybrid
// gradient method (Chambolle, Pock 2011) with scaling, averaging, restarts and adaptive steps as in
// PDLP (Applegate et al. 2021). It needs no factorization: an iteration is two products with the
// matrix. Each call continues from the previous solution, so adding rows is cheap.
//
// Most rows that were once violated stop binding after a while, but they dominate the cost of an
// iteration. Rows that kMostIdle answers in a row did not need are therefore left out until they
// are violated.
//
// The result is only near the optimum. All columns are bounded, so duals of the right signs always
// prove a bound. Cuts and dual ascent continue from there (extract/milp/cut_loop.h).
#pragma once

#include <vector>

#include "extract/milp/milp.h"

namespace egret::extract {

class PrimalDualLp final : public Relaxation {
 public:
  // Requires that all columns are bounded.
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
