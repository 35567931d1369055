// SPDX-License-Identifier: Apache-2.0
// Facts about operators that are computed once and shared by many rules. They save time only: no
// result depends on what is cached. Threads may share one object.
#pragma once

#include "ir/evaluate/evaluation_memo.h"
#include "rules/testing/signatures.h"

namespace egret::rules {

struct KnownOperators {
  KnownSignatures signatures{};
  ir::EvaluationMemo plans{};
};

}  // namespace egret::rules
