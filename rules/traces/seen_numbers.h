// SPDX-License-Identifier: Apache-2.0
// The numbers of constants on which a rule decides something, and which of them instances had.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "rules/language/number_decisions.h"
#include "rules/testing/instance.h"

namespace egret::rules {

class SeenNumbers {
 public:
  explicit SeenNumbers(const Rule& rule) : decisions_(number_decisions(rule)) {}

  // Whether the rule admits few numbers, which are worth looking for.
  bool are_few() const { return !decisions_.finite.empty(); }
  // Notes the numbers of an instance. Returns whether one is new.
  bool note(const Instance& instance);
  // An open number on which the rule decides something, but which has other values than those seen.
  // Empty if there is none.
  std::string open_number() const;

 private:
  bool has_seen(const std::string& name, std::span<const double> numbers) const;

  NumberDecisions decisions_;
  std::map<std::pair<std::string, ir::DType>, std::set<double>> seen_;  // of constants
};

}  // namespace egret::rules
