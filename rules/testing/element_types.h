// SPDX-License-Identifier: Apache-2.0
// Element types that random instances do not have. Instances have f32, i64 and bool, unless the
// conditions of a rule name others. Definitions may treat integers by their sign and width: |x| of
// an unsigned x is x, also if x is -1 and wraps around.
#pragma once

#include <vector>

#include "rules/testing/instance.h"

namespace egret::rules {

// The choice with u8 and with i8 instead of i64: of all variables and all attributes that name a
// type, and if several variables are i64, of each alone. The results need not be instances.
std::vector<Choice> with_other_integers(const Choice& choice);

}  // namespace egret::rules
