// SPDX-License-Identifier: Apache-2.0
// Handles the real numbers that a rule leaves open, while an instance is generalized: which are
// open, the stand-ins that represent them, and the meaning of the rule's expressions over them
// (verifier/algebra/real_term.h).
//
// Stand-ins keep the order and the signs that the numbers have in the instance, and their size is
// between 1/2 and 1. Most conditions therefore hold for them as for the instance. They have eight
// significant bits, so narrow element types represent them exactly.
#pragma once

#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rules/language/expression.h"
#include "rules/language/rule.h"
#include "verifier/algebra/real_term.h"

namespace egret::rules {

// The tag of rules that hold up to the rounding of a constant.
inline constexpr std::string_view kRounding = "rounding";

struct OpenReals {
  bool all = false;
  std::set<std::string> names{};
  bool zero_is_negative = false;  // or positive, where the instance has a zero

  bool is_open(const std::string& name, double real) const {
    return std::isfinite(real) && (all || names.contains(name));
  }
};

class StandIns {
 public:
  // `reals` are the instance's reals by name. Another `salt` gives other stand-ins.
  StandIns(const std::map<std::string, double, std::less<>>& reals, const OpenReals& open,
           int salt);

  // The stand-in of a number of the instance; equal numbers share one.
  double unknown(double real);
  // A stand-in for a computed value. Whole values get whole numbers, which integer types can hold.
  double stand_in(verifier::RealTerm term);
  // A stand-in for a whole number. Such numbers keep the order of their examples.
  double stand_in(verifier::RealTerm term, std::int64_t example);
  // The term that a number or its negative stands for; other numbers stand for themselves.
  verifier::RealTerm meaning(double number) const;
  const verifier::RealNumbers& numbers() const { return numbers_; }
  verifier::RealNumbers& numbers() { return numbers_; }

 private:
  std::optional<double> whole(double low, double high) const;

  std::map<double, double> of_instance_;
  int salt_;
  std::size_t computed_ = 0;
  std::vector<std::pair<double, std::int64_t>> examples_;  // of whole stand-ins
  verifier::RealNumbers numbers_;
};

class RealExpressions {
 public:
  // Call it after the sources were bound in the environment.
  RealExpressions(const Rule& rule, Environment& environment, StandIns& reals)
      : rule_(rule), environment_(environment), reals_(reals) {}

  // The expression as a real term, if it consists of stand-ins, sizes and numbers.
  std::optional<verifier::RealTerm> meaning(const Expr& expr);
  // Replaces expressions over open numbers in the targets of a copy of the rule by stand-ins.
  void replace_in(Rule& copy);
  // Collects the comparisons of open numbers in the conditions.
  void collect_facts();

 private:
  void replace_real(Expr& expr);
  void replace_whole(Expr& expr);
  void replace_in(Term& term);
  void collect_facts(const Expr& condition);

  const Rule& rule_;
  Environment& environment_;
  StandIns& reals_;
};

}  // namespace egret::rules
