// SPDX-License-Identifier: Apache-2.0
// Types of operators as text, for tests: type_text("relu", {}, {{DType::kF32, {2, 3}}}) is
// "f32[2,3]", or the message of the error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/operator.h"

namespace egret::ir {

inline std::string type_text(std::string_view name, const Attrs& attrs,
                             const std::vector<TensorType>& inputs) {
  const Operator& op = get_operator(name);
  const auto canonical = canonical_attrs(op.attrs(), attrs);
  if (!canonical.ok()) return canonical.status().message();
  const auto type = infer_type(op, *canonical, inputs);
  return type.ok() ? to_string(*type) : type.status().message();
}

// The element that a primitive computes, as text.
inline std::string value_text(std::string_view name, const Attrs& attrs,
                              const std::vector<TensorType>& inputs) {
  const Operator& op = get_operator(name);
  const auto canonical = canonical_attrs(op.attrs(), attrs);
  if (!canonical.ok()) return canonical.status().message();
  const auto denotation = denote(op, *canonical, inputs);
  return denotation.ok() ? to_string(denotation->value, op.inputs())
                         : denotation.status().message();
}

}  // namespace egret::ir
