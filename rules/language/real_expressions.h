// SPDX-License-Identifier: Apache-2.0
// Real numbers that a rule leaves open, while an instance is made general: which are open, which
// numbers stand for them, and what a rule's expressions over them mean
// (verifier/algebra/real_term.h).
//
// Numbers that stand for unknown ones keep the order and the signs that these have in the instance
// and lie between 1/2 and 1 in size, so that most conditions hold for them as they hold for the
// instance. They have eight significant bits, so that element types of few bits hold them too.
#pragma once

#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rules/language/expression.h"
#include "rules/language/rule.h"
#include "verifier/algebra/real_term.h"

namespace egret::rules {

// Whose rules hold up to the rounding of a constant.
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
  // `reals` of the instance by name. Those with other `salt` differ.
  StandIns(const std::map<std::string, double, std::less<>>& reals, const OpenReals& open,
           int salt);

  // Of a number of the instance; equal ones have one.
  double unknown(double real);
  // Of what is computed. Sizes get whole numbers, which integer types hold.
  double stand_in(verifier::RealTerm term);
  // What a number, or its negative, stands for; a number is itself.
  verifier::RealTerm meaning(double number) const;
  const verifier::RealNumbers& numbers() const { return numbers_; }
  verifier::RealNumbers& numbers() { return numbers_; }

 private:
  std::map<double, double> of_instance_;
  int salt_;
  std::size_t computed_ = 0;
  std::size_t sizes_ = 0;
  verifier::RealNumbers numbers_;
};

class RealExpressions {
 public:
  // After the sources were bound in the environment.
  RealExpressions(const Rule& rule, Environment& environment, StandIns& reals)
      : rule_(rule), environment_(environment), reals_(reals) {}

  // The expression, when it is made of what stands for a number, sizes and numbers.
  std::optional<verifier::RealTerm> meaning(const Expr& expr);
  // In the targets of a copy of the rule: numbers instead of expressions over open numbers.
  void replace_in(Rule& copy);
  // The comparisons of open numbers among the conditions.
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
