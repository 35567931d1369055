// SPDX-License-Identifier: Apache-2.0
// The functions of CBC's C interface that Egret calls, from a library that is opened at the first
// use.
//
// CBC brings LAPACK and with it OpenBLAS, which reserves 128 MiB and more as soon as it is loaded,
// and where the system refuses them asks again without an end. A program that linked CBC would need
// them for each of its verbs.
#pragma once

#include <coin/Cbc_C_Interface.h>

#include "base/status.h"

// One row a function, without its prefix Cbc_.
#define EGRET_CBC_FUNCTIONS(row)                                                              \
  row(newModel) row(deleteModel) row(setLogLevel) row(setMaximumSeconds) row(setAllowableGap) \
      row(loadProblem) row(setInteger) row(setMIPStartI) row(solve) row(isProvenInfeasible)   \
          row(isProvenOptimal) row(getBestPossibleObjValue) row(getObjValue) row(bestSolution)

namespace egret::extract {

struct CbcFunctions {
#define EGRET_CBC_FUNCTION(name) decltype(&::Cbc_##name) name = nullptr;
  EGRET_CBC_FUNCTIONS(EGRET_CBC_FUNCTION)
#undef EGRET_CBC_FUNCTION
};

// Opens the library at the first call, in a process that may be ended
// (extract/milp/milp_process.h). Errors: unavailable where there is no library, or one without
// these functions; limit_hit where it does not fit into memory.
base::Result<const CbcFunctions*> cbc_functions();

}  // namespace egret::extract
