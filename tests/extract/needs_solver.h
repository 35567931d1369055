// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include "extract/milp/milp.h"

// Ends a test in a build that has neither HiGHS nor CBC.
#define SKIP_WITHOUT_MILP_SOLVER() \
  if (::egret::extract::milp_solvers().empty()) GTEST_SKIP() << "no solver of integer programs"
