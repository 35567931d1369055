// SPDX-License-Identifier: Apache-2.0
// Documentation in Markdown, generated from the operators. Nothing is maintained by hand, so it
// cannot disagree with the code.
#pragma once

#include <string>

#include "base/status.h"
#include "ir/graph/operator.h"

namespace egret::ir {

// The meaning of the operator on its example. Primitive: the types, the value of one element and
// the requirements on sizes. Composite: the body as graph text. Errors: the example does not fit
// the operator.
base::Result<std::string> operator_meaning(const Operator& op);

// The page of one operator: purpose, inputs, attributes, meaning, ONNX forms.
std::string operator_page(const Operator& op);

// All operators: name, kind, inputs, purpose.
std::string operator_table();

// The ONNX operator types that import, each with the Egret operators it becomes; sorted.
std::string onnx_support_table();

}  // namespace egret::ir
