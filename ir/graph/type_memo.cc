// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/type_memo.h"

namespace egret::ir {

const base::Result<TensorType>& TypeMemo::infer(const Operator& op, const Attrs& attrs,
                                                std::span<const TensorType> inputs) {
  const Call call{op, attrs, inputs};
  if (const base::Result<TensorType>* known = answers_.find(call)) return *known;
  ++inferred_;
  return answers_.insert(call, infer_type(op, attrs, inputs));
}

}  // namespace egret::ir
