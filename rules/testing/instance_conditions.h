// SPDX-License-Identifier: Apache-2.0
// What the conditions of a rule say outright of its instances, so that it need not be guessed:
// attributes, sizes, ranks, types and splats that equations among them fix, and which conditions
// can be asked before the elements of tensors are known.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "rules/language/rule.h"

namespace egret::rules {

class InstanceConditions {
 public:
  // The rule outlives what was found in it.
  explicit InstanceConditions(const Rule& rule);

  // ?attribute == value
  struct Definition {
    int attribute;
    const Expr* value;
  };
  const std::vector<Definition>& definitions() const { return definitions_; }

  // The integer that an equation linear in this attribute, such as ?size * 2 == dim(?x, ?axis),
  // gives it by what else the environment knows.
  std::optional<std::int64_t> solve_for(int attribute, Environment& environment) const;

  // Gives a tensor that was just drawn the type and the sizes that equations, linear in a size, ask
  // of it. The environment knows nothing of it yet, and will not afterwards.
  void fit(int tensor, ir::TensorType& type, Environment& environment) const;

  // Whether some condition does not hold whatever is still unknown; what is has no value. Asks
  // nothing about elements.
  bool fail(Environment& environment) const;
  bool can_fail() const { return !early_.empty(); }

  std::optional<int> rank_of(int tensor) const;
  // Whether all elements are one number, and which, if the conditions say so.
  struct Splat {
    std::optional<double> number;
  };
  std::optional<Splat> splat_of(int tensor) const;

 private:
  struct Equation {
    const Expr* left;
    const Expr* right;
  };
  // dim(?tensor, axis) within the equation.
  struct Size {
    Equation equation;
    const Expr* axis;
  };

  // Left less right, where both are known integers.
  static std::optional<std::int64_t> excess(const Equation& equation, Environment& environment);

  void collect(const Expr& condition);
  void collect_equation(const Expr& left, const Expr& right);
  void collect_sizes(const Equation& equation, const Expr& within);
  static void fit_size(const Size& size, int tensor, ir::TensorType& type,
                       Environment& environment);

  std::vector<const Expr*> early_;
  std::vector<Definition> definitions_;
  std::vector<Equation> equations_;         // all
  std::map<int, std::vector<Size>> sizes_;  // by tensor, in the order of the equations
  std::vector<std::pair<int, int>> same_types_;
  std::map<int, int> ranks_;
  std::map<int, Splat> splats_;
};

}  // namespace egret::rules
