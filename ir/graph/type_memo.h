// SPDX-License-Identifier: Apache-2.0
// A memoized infer_type() for searches that repeat the same question: a definition runs once for
// each operator, attributes and input types. Concrete sizes only. Not thread-safe.
#pragma once

#include <cstddef>
#include <span>

#include "base/status.h"
#include "ir/graph/call_table.h"

namespace egret::ir {

class TypeMemo {
 public:
  // As ir::infer_type(); valid until the next call.
  const base::Result<TensorType>& infer(const Operator& op, const Attrs& attrs,
                                        std::span<const TensorType> inputs);
  // The number of definitions that were run.
  std::size_t inferred() const { return inferred_; }

 private:
  CallTable<base::Result<TensorType>> answers_{1 << 16};
  std::size_t inferred_ = 0;
};

}  // namespace egret::ir
