// SPDX-License-Identifier: Apache-2.0
// Expressions of rules over attributes and sizes: dim(?x, 1) + dim(?y, 1), compose(?p, ?q), [for i
// < rank(?x): ?pads[i] + 1], group == 1 and constant(?w).
//
// Values are attribute values (integers, reals, texts, lists of integers); a truth value is the
// integer 0 or 1. The parser has resolved names to slots. An expression that is undefined on the
// given values (an index outside a list, a division by zero, a symbolic size, mismatched kinds) has
// no value. A condition without a value does not hold, and then the rule does not apply.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/core/attributes.h"
#include "rules/language/tensor_facts.h"

namespace egret::rules {

// A position in the source text, counted from 1.
struct Location {
  int line = 0;
  int column = 0;
};

// The bindings that the expressions of one rule refer to, by slot.
struct Environment {
  struct Tensor {
    const TensorFacts* facts = nullptr;  // nullptr: not known (yet)
    std::uint32_t identity = 0;          // class or node; for distinct() and before()
  };
  std::vector<Tensor> tensors;
  std::vector<std::optional<ir::AttrValue>> attributes;
  std::vector<const ir::Attrs*> spreads;
  std::vector<std::int64_t> loops;  // variables of the comprehensions being evaluated
};

// The arguments of a function, by pointer: lists are not copied.
class ExprArguments {
 public:
  explicit ExprArguments(std::span<const ir::AttrValue* const> values) : values_(values) {}
  const ir::AttrValue& operator[](std::size_t i) const { return *values_[i]; }
  std::size_t size() const { return values_.size(); }

 private:
  std::span<const ir::AttrValue* const> values_;
};

// A function or operator of expressions; one row in functions(). Tensor arguments come first.
struct ExprFunction {
  using Call = std::optional<ir::AttrValue> (*)(std::span<const Environment::Tensor>,
                                                const ExprArguments&);
  std::string_view name;
  int tensors;    // how many of the arguments are tensors
  int arguments;  // how many follow; -1: one or more
  Call call;
  std::string_view help;
};
std::span<const ExprFunction> functions();
const ExprFunction* find_function(std::string_view name);

struct Expr {
  enum class Kind : std::uint8_t {
    kLiteral,        // value
    kAttribute,      // slot: an attribute variable ?a
    kSpread,         // slot, name: the attribute of a captured operator, c.strides
    kLoop,           // slot: a comprehension's variable, by nesting depth
    kTensor,         // slot: an argument of a function of tensors
    kCall,           // function, arguments; the infix operators too
    kList,           // arguments
    kComprehension,  // [for name < arguments[0]: arguments[1]]
    kAnd,            // arguments, evaluated in order until one decides
    kOr,
    kIf,  // if(condition, then, otherwise)
  };

  Kind kind = Kind::kLiteral;
  ir::AttrValue value{};
  int slot = -1;
  std::string name{};
  const ExprFunction* function = nullptr;
  std::vector<Expr> arguments{};
  Location at{};
};

std::optional<ir::AttrValue> evaluate(const Expr& expr, Environment& environment);
// Whether the expression consists of numbers, texts, lists and functions of them alone, so that its
// value is the same in all environments.
bool is_constant(const Expr& expr);
// Whether the expression has a value that is a number other than 0.
bool holds(const Expr& expr, Environment& environment);

// Calls `visit` on an expression and all its parts.
template <typename Visit>
void for_each_part(const Expr& expr, const Visit& visit) {
  visit(expr);
  for (const Expr& part : expr.arguments) for_each_part(part, visit);  // depth bounded by parser
}

}  // namespace egret::rules
