// SPDX-License-Identifier: Apache-2.0
// The open numbers on which a rule decides something: real attributes, and the elements of
// constants whose elements are equal. A proof holds for all such numbers, and the conditions of the
// rule that compare them are facts of it. Other decisions are taken for one number alone: by `if`,
// `and`, `or`, `not`, `contains`, `index_of`, or a comparison in a target.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "rules/language/rule.h"

namespace egret::rules {

struct NumberDecisions {
  // The numbers that are decided on, as texts: "?a", "splat_of(?c)".
  std::vector<std::string> of;
  // The literals among these decisions, the numbers between them, and some beyond. Sorted. Other
  // decisions than comparisons with literals have numbers that these do not tell apart.
  std::vector<double> landmarks;
  // By constant tensor: the only numbers that a condition `contains([...], splat_of(?c))` admits.
  std::map<std::string, std::vector<double>> finite;
};
NumberDecisions number_decisions(const Rule& rule);

// Numbers, one number between each two, one below and one above all. Empty if there are none.
std::vector<double> with_neighbours(std::vector<double> numbers);

}  // namespace egret::rules
