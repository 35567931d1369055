// SPDX-License-Identifier: Apache-2.0
// An analysis for tests: the number of operators in a class's smallest term. Operators whose
// payload is kForbidden are refused.
#pragma once

#include <algorithm>

#include "egraph/core/egraph.h"

namespace egret::egraph {

class SmallestSize : public Analysis {
 public:
  static constexpr std::uint64_t kForbidden = 99;

  base::Result<Data> make(const EGraph& egraph, OpId op,
                          std::span<const ClassId> children) override {
    if (egraph.ops().payload(op) == kForbidden) return base::bad_input("forbidden operator");
    Data size = 1;
    for (const ClassId child : children) size += egraph.data(child);
    return std::min(size, Data{1} << 40);
  }
  base::Result<Data> merge(Data a, Data b) override { return std::min(a, b); }
};

}  // namespace egret::egraph
