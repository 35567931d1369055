// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "extract/milp/milp.h"

namespace egret::extract {

std::unique_ptr<MilpSolver> make_cbc();

}  // namespace egret::extract
