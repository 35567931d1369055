// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "egraph/core/analysis.h"
#include "egraph/core/egraph.h"

namespace egret::egraph {

// Nodes of operators with different payloads cannot be equal.
class Distinct : public Analysis {
 public:
  base::Result<Data> make(const EGraph& egraph, OpId op, std::span<const ClassId>) override {
    return egraph.ops().payload(op);
  }
  base::Result<Data> merge(Data a, Data b) override {
    if (a == 0 || b == 0 || a == b) return a | b;
    return base::bad_input("two values");
  }
};

}  // namespace egret::egraph
