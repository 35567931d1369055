// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/any_operator.h"

#include "ir/ops/opaque.h"

namespace egret::ir {

const Operator* find_any_operator(std::string_view name) {
  for (const Operator* const op : {&opaque_operator(), &opaque_output()}) {
    if (op->name() == name) return op;
  }
  return find_operator(name);
}

}  // namespace egret::ir
