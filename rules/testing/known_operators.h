// SPDX-License-Identifier: Apache-2.0
// What is found out about operators once and of use for many rules. It saves time alone: nothing
// that is decided depends on what is known already. Threads may share one object.
#pragma once

#include "ir/evaluate/evaluation_memo.h"
#include "rules/testing/signatures.h"

namespace egret::rules {

struct KnownOperators {
  KnownSignatures signatures{};
  ir::EvaluationMemo plans{};
};

}  // namespace egret::rules
