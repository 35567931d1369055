// SPDX-License-Identifier: Apache-2.0
#include "extract/milp/milp.h"

#ifdef EGRET_HIGHS
#include "extract/milp/milp_highs.h"
#endif
#ifdef EGRET_CBC
#include "extract/milp/milp_cbc.h"
#endif

namespace egret::extract {

// The solvers of this build, the faster one first.
std::span<const MilpSolverRow> milp_solvers() {
  static const std::vector<MilpSolverRow> kSolvers = {
#ifdef EGRET_HIGHS
      {"highs", &make_highs},
#endif
#ifdef EGRET_CBC
      {"cbc", &make_cbc},
#endif
  };
  return kSolvers;
}

}  // namespace egret::extract
