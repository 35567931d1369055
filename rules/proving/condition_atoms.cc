// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/condition_atoms.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "rules/language/expression_parts.h"
#include "rules/tensors/binding.h"

namespace egret::rules {
namespace {

using Form = Atom::Form;
using ir::AttrValue;

constexpr std::size_t kMostNumbers = 8;  // thresholds of a quantity
constexpr std::int64_t kMostDivisor = 8;

// The environment in which expressions over an instance are evaluated.
class InstanceEnvironment {
 public:
  InstanceEnvironment(const Rule& rule, const Instance& instance)
      : environment_(make_environment(rule)), spreads_(instance.spreads) {
    for (const auto& [slot, type] : instance.choice.variables)
      facts_[slot] = {type, true, std::nullopt};
    for (const auto& [slot, facts] : facts_)
      environment_.tensors[static_cast<std::size_t>(slot)] = {&facts, 0};
    environment_.attributes = instance.attributes;
    for (std::size_t i = 0; i < spreads_.size(); ++i) environment_.spreads[i] = &spreads_[i];
  }
  InstanceEnvironment(const InstanceEnvironment&) = delete;
  InstanceEnvironment& operator=(const InstanceEnvironment&) = delete;

  std::optional<std::int64_t> integer(const Expr& expr) {
    const auto value = evaluate(expr, environment_);
    const auto* integer = value ? std::get_if<std::int64_t>(&*value) : nullptr;
    // Markers such as "to the end" are no numbers.
    const bool is_number =
        integer != nullptr && *integer > -kLeastMarker && *integer < kLeastMarker;
    return is_number ? std::optional(*integer) : std::nullopt;
  }

 private:
  static constexpr std::int64_t kLeastMarker = std::int64_t{1} << 30;

  Environment environment_;
  std::vector<ir::Attrs> spreads_;
  std::map<int, TensorFacts> facts_;
};

// The smallest values of a quantity, which may be thresholds.
std::vector<std::int64_t> thresholds_of(std::size_t quantity,
                                        const std::vector<QuantityValues>& examples) {
  std::set<std::int64_t> all{0, 1};
  for (const QuantityValues& values : examples) {
    if (values[quantity]) all.insert(*values[quantity]);
  }
  std::vector<std::int64_t> some;
  while (!all.empty() && some.size() < kMostNumbers) {
    some.push_back(*all.begin());
    all.erase(all.begin());
  }
  return some;
}

bool is_fixed(std::size_t quantity, const std::vector<QuantityValues>& examples) {
  return std::ranges::all_of(examples, [&](const QuantityValues& values) {
    return values[quantity] == examples.front()[quantity];
  });
}

// Inequalities, divisibilities, and sums and products of sizes and attributes.
void add_computed(std::size_t a, const std::vector<std::size_t>& open, const Quantities& quantities,
                  std::vector<Atom>& all) {
  for (std::int64_t divisor = 2; divisor <= kMostDivisor; ++divisor)
    all.push_back({.form = Form::kMultipleOf, .a = a, .number = divisor});
  for (const std::size_t b : open) {
    if (a == b || b >= quantities.first_structural()) continue;
    for (const Form form : {Form::kLessEqual, Form::kLess, Form::kMultiple})
      all.push_back({.form = form, .a = a, .b = b});
    for (const std::size_t c : open) {
      if (c == a || c >= quantities.first_structural()) continue;
      if (b <= c) {
        all.push_back({.form = Form::kEqualSum, .a = a, .b = b, .c = c});
        all.push_back({.form = Form::kEqualProduct, .a = a, .b = b, .c = c});
      }
      if (a < b && c != b) all.push_back({.form = Form::kSumAtMost, .a = a, .b = b, .c = c});
    }
  }
}

}  // namespace

Quantities::Quantities(const Instance& like) {
  for (const auto& [slot, type] : like.choice.variables) {
    for (int axis = 0; axis < type.rank(); ++axis)
      all_.push_back(call("dim", {tensor(slot), literal(std::int64_t{axis})}));
  }
  std::vector<Expr> signs;
  const auto add = [&](const Expr& expr, const AttrValue& value) {
    if (std::holds_alternative<double>(value)) {
      for (const char* relation : {">=", ">", "<="})
        signs.push_back(call(relation, {expr, literal(0.0)}));
    }
    if (std::holds_alternative<std::int64_t>(value)) all_.push_back(expr);
    if (const auto* list = std::get_if<ir::Integers>(&value)) {
      for (std::size_t i = 0; i < list->size(); ++i)
        all_.push_back(call("at", {expr, literal(static_cast<std::int64_t>(i))}));
    }
  };
  for (std::size_t i = 0; i < like.attributes.size(); ++i) {
    if (like.attributes[i]) add(attribute(static_cast<int>(i)), *like.attributes[i]);
  }
  for (std::size_t i = 0; i < like.spreads.size(); ++i) {
    for (const ir::Attrs::Entry& entry : like.spreads[i].entries())
      add({.kind = Expr::Kind::kSpread, .slot = static_cast<int>(i), .name = entry.name},
          entry.value);
  }
  structural_ = all_.size();
  for (const auto& [slot, type] : like.choice.variables) {
    all_.push_back(call("rank", {tensor(slot)}));
    all_.push_back(call("is_float", {tensor(slot)}));
  }
  truths_ = all_.size();
  all_.insert(all_.end(), signs.begin(), signs.end());
}

QuantityValues Quantities::values(const Rule& rule, const Instance& instance) const {
  InstanceEnvironment environment(rule, instance);
  QuantityValues values;
  for (const Expr& quantity : all_) values.push_back(environment.integer(quantity));
  return values;
}

bool holds(const Atom& atom, const QuantityValues& values) {
  const auto value = [&](std::size_t quantity) { return values[quantity]; };
  if (!value(atom.a)) return false;
  const std::int64_t a = *value(atom.a);
  switch (atom.form) {
    case Form::kEqualNumber: return a == atom.number;
    case Form::kAtLeast: return a >= atom.number;
    case Form::kAtMost: return a <= atom.number;
    case Form::kMultipleOf: return a % atom.number == 0;
    default: break;
  }
  if (!value(atom.b)) return false;
  const std::int64_t b = *value(atom.b);
  switch (atom.form) {
    case Form::kEqual: return a == b;
    case Form::kLessEqual: return a <= b;
    case Form::kLess: return a < b;
    case Form::kMultiple: return b > 0 && a % b == 0;
    default: break;
  }
  if (!value(atom.c)) return false;
  const std::int64_t c = *value(atom.c);
  switch (atom.form) {
    case Form::kEqualSum: return a == b + c;
    case Form::kEqualProduct: return a == b * c;
    default: return a + b <= c;
  }
}

Expr expression(const Atom& atom, const Quantities& quantities) {
  const Expr& a = quantities.expr(atom.a);
  const auto b = [&] { return quantities.expr(atom.b); };
  const auto c = [&] { return quantities.expr(atom.c); };
  const Expr number = literal(atom.number);
  Expr zero = literal(std::int64_t{0});
  switch (atom.form) {
    case Form::kEqual: return equal(a, b());
    case Form::kEqualNumber: return atom.a >= quantities.first_truth() ? a : equal(a, number);
    case Form::kLessEqual: return call("<=", {a, b()});
    case Form::kLess: return call("<", {a, b()});
    case Form::kAtLeast: return call(">=", {a, number});
    case Form::kAtMost: return call("<=", {a, number});
    case Form::kMultiple: return equal(call("%", {a, b()}), zero);
    case Form::kMultipleOf: return equal(call("%", {a, number}), zero);
    case Form::kEqualSum: return equal(a, call("+", {b(), c()}));
    case Form::kEqualProduct: return equal(a, call("*", {b(), c()}));
    case Form::kSumAtMost: return call("<=", {call("+", {a, b()}), c()});
  }
  return zero;
}

std::vector<Atom> all_atoms(const Quantities& quantities,
                            const std::vector<QuantityValues>& examples) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < quantities.size(); ++i) {
    if (!is_fixed(i, examples)) open.push_back(i);
  }
  const auto is_structural = [&](std::size_t i) { return i >= quantities.first_structural(); };
  std::vector<Atom> all;
  for (const std::size_t a : open) {
    if (a >= quantities.first_truth()) {
      all.push_back({.form = Form::kEqualNumber, .a = a, .number = 1});
      continue;
    }
    for (const std::int64_t number : thresholds_of(a, examples)) {
      all.push_back({.form = Form::kEqualNumber, .a = a, .number = number});
      all.push_back({.form = Form::kAtLeast, .a = a, .number = number});
      all.push_back({.form = Form::kAtMost, .a = a, .number = number});
    }
    for (const std::size_t b : open) {
      if (b >= quantities.first_truth()) break;
      const bool alike = (b - a) % 2 == 0 || !is_structural(a);  // ranks, or no structure
      if (a < b && is_structural(a) == is_structural(b) && alike)
        all.push_back({.form = Form::kEqual, .a = a, .b = b});
    }
    if (!is_structural(a)) add_computed(a, open, quantities, all);
  }
  std::ranges::stable_sort(all, {}, &Atom::form);
  return all;
}

}  // namespace egret::rules
