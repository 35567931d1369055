// SPDX-License-Identifier: Apache-2.0
// What arg_max, arg_min and hardmax share: the position of an extreme element along an axis.
#pragma once

#include <string>

#include "ir/graph/operator.h"

namespace egret::ir {

// The first (or last) position along `axis` of input 0 of its maximum (kMax) or minimum (kMin).
// `at` gives the input's indices for a position.
Scalar position_of_extremum(const Definition& d, Reduction extremum, Index extent, bool last,
                            const std::function<std::vector<Index>(Index position)>& at);

// The whole operator `name`.
Operator arg_reduction_operator(std::string name, std::string doc, std::string onnx_name,
                                Reduction extremum);

}  // namespace egret::ir
