// SPDX-License-Identifier: Apache-2.0
// Facts about a rule's instances that its conditions state directly: attributes, sizes, ranks,
// types and splats fixed by equations. The search for instances then need not guess them. Also
// finds the conditions that can be evaluated before tensor elements are known.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rules/language/expression_reads.h"
#include "rules/language/rule.h"

namespace egret::rules {

// The conditions of a rule, with conjunctions as separate conditions.
std::vector<Expr> conjuncts(const Rule& rule);
// Whether an expression depends on ranks and element types alone.
bool is_structural(const Expr& expr);

class InstanceConditions {
 public:
  enum class Regard : std::uint8_t {
    kAll,
    kStructure,  // conditions on ranks and element types alone decide whether an attempt fails
  };
  // The rule must outlive this object.
  explicit InstanceConditions(const Rule& rule, Regard regard = Regard::kAll);

  // ?attribute == value
  struct Definition {
    int attribute;
    const Expr* value;
  };
  const std::vector<Definition>& definitions() const { return definitions_; }

  // The value of this attribute from an equation linear in it, such as ?size * 2 == dim(?x, ?axis),
  // given the other values in the environment.
  std::optional<std::int64_t> solve_for(int attribute, Environment& environment) const;

  // Adjusts the type and sizes of a newly drawn tensor to the equations that are linear in a size.
  // The tensor is not in the environment, before or afterwards. No size gets below `least`.
  void fit(int tensor, ir::TensorType& type, Environment& environment,
           std::int64_t least = 1) const;

  // Whether some condition is false regardless of what is still unknown. Unknown values have no
  // value in the environment. Evaluates no condition on elements.
  bool fail(Environment& environment) const;
  bool can_fail() const { return !early_.empty(); }

  std::optional<int> rank_of(int tensor) const;
  // The element types of which the conditions want one; empty if they leave it open.
  std::span<const ir::DType> dtypes_of(int tensor) const;
  // The texts of which the conditions want one for an attribute; empty if they leave it open.
  std::span<const std::string> texts_of(int attribute) const;
  // Whether the conditions require that all elements are one number, and which number, if stated.
  struct Splat {
    std::optional<double> number;
  };
  std::optional<Splat> splat_of(int tensor) const;
  // The sign that the conditions state of all elements.
  ir::Sign sign_of(int tensor) const { return stated_sign(rule_, tensor); }

  // Numbers that the elements of constants should have in some instances, because the rule decides
  // something on them.
  const std::vector<double>& splat_numbers(int tensor) const;
  // The numbers in the conditions and in decisions on reals, one number between each two, one below
  // and one above all. If conditions that compare one real with numbers can be met, then by one of
  // these.
  const std::vector<double>& landmarks() const { return landmarks_; }

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

  // Left minus right, if both are known integers.
  static std::optional<std::int64_t> excess(const Equation& equation, Environment& environment);

  void collect(const Expr& condition);
  void collect_equation(const Expr& left, const Expr& right);
  void collect_sizes(const Equation& equation, const Expr& within);
  static void fit_size(const Size& size, int tensor, ir::TensorType& type, Environment& environment,
                       std::int64_t least);

  const Rule& rule_;
  std::vector<const Expr*> early_;
  std::vector<Definition> definitions_;
  std::vector<Equation> equations_;         // all
  std::map<int, std::vector<Size>> sizes_;  // by tensor, in the order of the equations
  std::vector<std::pair<int, int>> same_types_;
  std::map<int, int> ranks_;
  std::map<int, std::vector<ir::DType>> dtypes_;
  std::map<int, std::vector<std::string>> texts_;  // by attribute, of alternatives
  std::map<int, Splat> splats_;
  std::vector<double> landmarks_;
  std::vector<double> splat_numbers_;
  std::map<int, std::vector<double>>
      finite_;  // by tensor: the only numbers that a condition admits
};

}  // namespace egret::rules
