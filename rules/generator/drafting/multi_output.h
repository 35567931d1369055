// SPDX-License-Identifier: Apache-2.0
// Rules with two outputs. Where a concatenation of two terms equals something, each of the terms
// equals its part of it:
//
//   concat{axis=1}(matmul(?x, ?a), matmul(?x, ?b)) => matmul(?x, concat{axis=1}(?a, ?b))
//
// says of p = matmul(?x, ?a) and q = matmul(?x, ?b) that both are slices of one product. Stated
// where the terms share a tensor, so that there is something to gain.
#pragma once

#include <optional>

#include "rules/language/rule.h"

namespace egret::rules::generator {

// nullopt where the rule's source is no concatenation of two applications that share a tensor, or
// its axis is not known.
std::optional<Rule> two_output_rule(const Rule& rule);

}  // namespace egret::rules::generator
