// SPDX-License-Identifier: Apache-2.0
#include "rules/testing/instance_conditions.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

#include "base/function_ref.h"
#include "rules/language/expression_reads.h"
#include "rules/language/number_decisions.h"

namespace egret::rules {
namespace {

// Whether a condition depends on tensor elements, which are drawn last.
bool speaks_of_elements(const Expr& expr) {
  return any_call(
      expr, [](const ExprFunction& function) { return reads_of(function) == Reads::kElements; });
}

bool is_integer_literal(const Expr& expr) {
  return expr.kind == Expr::Kind::kLiteral && std::holds_alternative<std::int64_t>(expr.value);
}

void collect_numbers(const Expr& expr, std::set<double>& numbers) {
  if (expr.kind == Expr::Kind::kLiteral) {
    const auto* real = std::get_if<double>(&expr.value);
    const auto* integer = std::get_if<std::int64_t>(&expr.value);
    if (real != nullptr) numbers.insert(*real);
    if (integer != nullptr) numbers.insert(static_cast<double>(*integer));
  }
  for (const Expr& part : expr.arguments) collect_numbers(part, numbers);
}

// The numbers that the conditions name, and those on which the rule decides something.
std::vector<double> landmarks_of(const Rule& rule, const NumberDecisions& decisions) {
  std::set<double> numbers(decisions.landmarks.begin(), decisions.landmarks.end());
  for (const Expr& condition : rule.conditions) collect_numbers(condition, numbers);
  return with_neighbours({numbers.begin(), numbers.end()});
}

bool mentions_attribute(const Expr& expr, int slot) {
  if (expr.kind == Expr::Kind::kAttribute) return expr.slot == slot;
  return std::ranges::any_of(expr.arguments,
                             [&](const Expr& part) { return mentions_attribute(part, slot); });
}

std::optional<std::int64_t> integer(const Expr& expr, Environment& environment) {
  const auto value = evaluate(expr, environment);
  const auto* number = value ? std::get_if<std::int64_t>(&*value) : nullptr;
  return number != nullptr ? std::optional(*number) : std::nullopt;
}

// The root of a function, assumed to be linear, from its values at 1 and 2. The root is verified;
// nullopt if there is none or the function is not linear.
std::optional<std::int64_t> root(
    base::FunctionRef<std::optional<std::int64_t>(std::int64_t)> function) {
  const auto at_1 = function(1);
  const auto at_2 = function(2);
  if (!at_1 || !at_2) return std::nullopt;
  const std::int64_t slope = *at_2 - *at_1;
  if (slope == 0 || *at_1 % slope != 0) return std::nullopt;
  const std::int64_t found = 1 - *at_1 / slope;
  return function(found) == 0 ? std::optional(found) : std::nullopt;
}

// What a condition compares with texts: the element type of a tensor variable, or an attribute.
enum class Subject : std::uint8_t { kDtype, kAttribute };

std::optional<int> slot_of(const Expr& expr, Subject subject) {
  if (subject == Subject::kAttribute)
    return expr.kind == Expr::Kind::kAttribute ? std::optional(expr.slot) : std::nullopt;
  const bool reads = expr.kind == Expr::Kind::kCall && expr.function->name == "dtype";
  return reads ? std::optional(expr.arguments[0].slot) : std::nullopt;
}

// By slot: the texts of which a condition wants one. Those of an alternative count only if all
// others name texts of the same subject.
std::map<int, std::vector<std::string>> named_texts(const Expr& condition, Subject subject) {
  std::map<int, std::vector<std::string>> named;
  if (condition.kind == Expr::Kind::kAnd) {
    for (const Expr& part : condition.arguments) named.merge(named_texts(part, subject));
  } else if (condition.kind == Expr::Kind::kOr) {
    named = named_texts(condition.arguments.front(), subject);
    for (std::size_t i = 1; i < condition.arguments.size(); ++i) {
      const auto others = named_texts(condition.arguments[i], subject);
      std::erase_if(named, [&](const auto& one) { return !others.contains(one.first); });
      for (auto& [slot, texts] : named)
        texts.insert(texts.end(), others.at(slot).begin(), others.at(slot).end());
    }
  } else if (condition.kind == Expr::Kind::kCall && condition.function->name == "==") {
    const Expr& right = condition.arguments[1];
    const auto slot = slot_of(condition.arguments[0], subject);
    if (slot && right.kind == Expr::Kind::kLiteral) {
      if (const auto* text = std::get_if<std::string>(&right.value)) named[*slot] = {*text};
    }
  }
  return named;
}

std::vector<ir::DType> parsed_dtypes(const std::vector<std::string>& names) {
  std::vector<ir::DType> dtypes;
  for (const std::string& name : names) {
    if (const auto dtype = ir::parse_dtype(name)) dtypes.push_back(*dtype);
  }
  return dtypes;
}

}  // namespace

std::vector<Expr> conjuncts(const Rule& rule) {
  std::vector<Expr> separate;
  const auto add = [&](const auto& self, const Expr& condition) -> void {
    if (condition.kind != Expr::Kind::kAnd) {
      separate.push_back(condition);
    } else {
      for (const Expr& part : condition.arguments) self(self, part);
    }
  };
  for (const Expr& condition : rule.conditions) add(add, condition);
  return separate;
}

bool is_structural(const Expr& expr) {
  using Kind = Expr::Kind;
  if (expr.kind == Kind::kAttribute || expr.kind == Kind::kSpread) return false;
  if (expr.kind == Kind::kCall) {
    const Reads reads = reads_of(*expr.function);
    if (reads == Reads::kSizes || reads == Reads::kElements) return false;
  }
  return std::ranges::all_of(expr.arguments, is_structural);
}

InstanceConditions::InstanceConditions(const Rule& rule, Regard regard) : rule_(rule) {
  for (const Expr& condition : rule.conditions) collect(condition);
  for (const Equation& equation : equations_) {
    const auto tensor = slot_of(*equation.left, Subject::kDtype);
    const auto attribute = slot_of(*equation.right, Subject::kAttribute);
    if (tensor && attribute && texts_.contains(*attribute))
      dtypes_.emplace(*tensor, parsed_dtypes(texts_.at(*attribute)));
  }
  const auto by_elements = [](const Rule::Let& let) {
    return let.attribute >= 0 && speaks_of_elements(let.value);
  };
  if (std::ranges::any_of(rule.lets, by_elements)) early_.clear();
  if (regard == Regard::kStructure) {
    std::erase_if(early_, [](const Expr* condition) { return !is_structural(*condition); });
    std::erase_if(definitions_, [](const Definition& one) {
      return !is_structural(*one.value) || is_integer_literal(*one.value);
    });
    equations_.clear();
  }
  const NumberDecisions decisions = number_decisions(rule);
  landmarks_ = landmarks_of(rule, decisions);
  splat_numbers_ = decisions.landmarks;
  for (std::size_t slot = 0; slot < rule.tensors.size(); ++slot) {
    const auto finite = decisions.finite.find(rule.tensors[slot]);
    if (finite != decisions.finite.end()) finite_[static_cast<int>(slot)] = finite->second;
  }
  for (const Equation& equation : equations_) {
    collect_sizes(equation, *equation.left);
    collect_sizes(equation, *equation.right);
  }
}

// Collects what the conjuncts of a condition fix.
void InstanceConditions::collect(const Expr& condition) {
  if (condition.kind == Expr::Kind::kAnd) {
    for (const Expr& part : condition.arguments) collect(part);
    return;
  }
  if (!speaks_of_elements(condition)) early_.push_back(&condition);
  if (condition.kind == Expr::Kind::kOr) {
    for (const auto& [slot, names] : named_texts(condition, Subject::kDtype))
      dtypes_.emplace(slot, parsed_dtypes(names));
    texts_.merge(named_texts(condition, Subject::kAttribute));
  }
  if (condition.kind != Expr::Kind::kCall) return;
  const std::string_view function = condition.function->name;
  const auto& arguments = condition.arguments;
  if (function == "==") {
    equations_.push_back({&arguments[0], &arguments[1]});
    collect_equation(arguments[0], arguments[1]);
    collect_equation(arguments[1], arguments[0]);
  } else if (function == "same_type") {
    same_types_.emplace_back(arguments[0].slot, arguments[1].slot);
  } else if (function == "splat" && arguments[1].kind == Expr::Kind::kLiteral) {
    const auto* real = std::get_if<double>(&arguments[1].value);
    const auto* integer = std::get_if<std::int64_t>(&arguments[1].value);
    if (real != nullptr) splats_[arguments[0].slot] = {*real};
    if (integer != nullptr) splats_[arguments[0].slot] = {static_cast<double>(*integer)};
  } else if (function == "is_splat") {
    splats_.emplace(arguments[0].slot, Splat());
  }
}

void InstanceConditions::collect_equation(const Expr& left, const Expr& right) {
  if (left.kind == Expr::Kind::kAttribute) definitions_.push_back({left.slot, &right});
  if (left.kind != Expr::Kind::kCall || right.kind != Expr::Kind::kLiteral) return;
  if (left.function->name == "rank") {
    if (const auto* rank = std::get_if<std::int64_t>(&right.value))
      ranks_[left.arguments[0].slot] = static_cast<int>(*rank);
  } else if (const auto tensor = slot_of(left, Subject::kDtype)) {
    const auto* name = std::get_if<std::string>(&right.value);
    const auto dtype = name != nullptr ? ir::parse_dtype(*name) : std::nullopt;
    if (dtype) dtypes_[*tensor] = {*dtype};
  }
}

void InstanceConditions::collect_sizes(const Equation& equation, const Expr& within) {
  if (within.kind == Expr::Kind::kCall && within.function->name == "dim")
    sizes_[within.arguments[0].slot].push_back({equation, &within.arguments[1]});
  for (const Expr& part : within.arguments) collect_sizes(equation, part);
}

std::optional<std::int64_t> InstanceConditions::excess(const Equation& equation,
                                                       Environment& environment) {
  const auto left = integer(*equation.left, environment);
  const auto right = integer(*equation.right, environment);
  return left && right ? std::optional(*left - *right) : std::nullopt;
}

// Tries the equations that mention the attribute, one after the other, and takes the first root.
// The old value is restored.
std::optional<std::int64_t> InstanceConditions::solve_for(int attribute,
                                                          Environment& environment) const {
  auto& value = environment.attributes[static_cast<std::size_t>(attribute)];
  const auto before = value;
  std::optional<std::int64_t> found;
  for (const Equation& equation : equations_) {
    if (!mentions_attribute(*equation.left, attribute) &&
        !mentions_attribute(*equation.right, attribute))
      continue;
    found = root([&](std::int64_t number) {
      value = number;
      return excess(equation, environment);
    });
    if (found) break;
  }
  value = before;
  return found;
}

void InstanceConditions::fit(int tensor, ir::TensorType& type, Environment& environment,
                             std::int64_t least) const {
  for (const auto& [a, b] : same_types_) {
    if (a != tensor && b != tensor) continue;
    const auto& other = environment.tensors[static_cast<std::size_t>(a == tensor ? b : a)];
    if (other.facts != nullptr) type = other.facts->type;
  }
  const auto sizes = sizes_.find(tensor);
  if (sizes == sizes_.end()) return;
  for (const Size& size : sizes->second) fit_size(size, tensor, type, environment, least);
}

// Solves the equation for the size.
void InstanceConditions::fit_size(const Size& size, int tensor, ir::TensorType& type,
                                  Environment& environment, std::int64_t least) {
  const auto axis = integer(*size.axis, environment);
  if (!axis) return;
  const std::int64_t at = *axis < 0 ? *axis + type.rank() : *axis;
  if (at < 0 || at >= type.rank()) return;
  TensorFacts facts{type, true, std::nullopt};
  auto& known = environment.tensors[static_cast<std::size_t>(tensor)];
  known = {&facts, 0};
  const auto found = root([&](std::int64_t number) {
    facts.type.dims[static_cast<std::size_t>(at)] = number;
    return excess(size.equation, environment);
  });
  known = {};
  if (found && *found >= least) type.dims[static_cast<std::size_t>(at)] = *found;
}

bool InstanceConditions::fail(Environment& environment) const {
  return std::ranges::any_of(
      early_, [&](const Expr* condition) { return integer(*condition, environment) == 0; });
}

std::optional<int> InstanceConditions::rank_of(int tensor) const {
  const auto found = ranks_.find(tensor);
  return found != ranks_.end() ? std::optional(found->second) : std::nullopt;
}

std::span<const ir::DType> InstanceConditions::dtypes_of(int tensor) const {
  const auto found = dtypes_.find(tensor);
  return found != dtypes_.end() ? std::span(found->second) : std::span<const ir::DType>();
}

std::span<const std::string> InstanceConditions::texts_of(int attribute) const {
  const auto found = texts_.find(attribute);
  return found != texts_.end() ? std::span(found->second) : std::span<const std::string>();
}

const std::vector<double>& InstanceConditions::splat_numbers(int tensor) const {
  const auto found = finite_.find(tensor);
  return found != finite_.end() ? found->second : splat_numbers_;
}

std::optional<InstanceConditions::Splat> InstanceConditions::splat_of(int tensor) const {
  const auto found = splats_.find(tensor);
  return found != splats_.end() ? std::optional(found->second) : std::nullopt;
}

}  // namespace egret::rules
