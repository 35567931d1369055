// SPDX-License-Identifier: Apache-2.0
// infer_type() with a memory, for searches that ask the same again and again: a definition is run
// once for each operator, attributes and input types. Concrete sizes only. Not for several threads.
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
  // Times that a definition was run.
  std::size_t inferred() const { return inferred_; }

 private:
  CallTable<base::Result<TensorType>> answers_{1 << 16};
  std::size_t inferred_ = 0;
};

}  // namespace egret::ir
