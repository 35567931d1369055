// SPDX-License-Identifier: Apache-2.0
#include "rules/tensors/binding.h"

#include <algorithm>

namespace egret::rules {

using base::Result;
using base::Status;
using ir::AttrValue;

namespace {

bool is_let(const Rule& rule, int attribute) {
  return std::ranges::find(rule.lets, attribute, &Rule::Let::attribute) != rule.lets.end();
}

// kLater: the pattern is an expression, to be compared when all variables are bound.
enum class Outcome : std::uint8_t { kBound, kMismatch, kLater };

Outcome bind_variable(const Rule& rule, int slot, const AttrValue& value,
                      Environment& environment) {
  if (is_let(rule, slot)) return Outcome::kLater;
  auto& bound = environment.attributes[static_cast<std::size_t>(slot)];
  if (bound) return same_value(*bound, value) ? Outcome::kBound : Outcome::kMismatch;
  bound = value;
  return Outcome::kBound;
}

// Matches one attribute: literals are compared, variables bound, lists matched item by item.
Outcome bind_attr(const Rule& rule, const Expr& pattern, const AttrValue& value,
                  Environment& environment) {
  if (pattern.kind == Expr::Kind::kLiteral)
    return same_value(pattern.value, value) ? Outcome::kBound : Outcome::kMismatch;
  if (pattern.kind == Expr::Kind::kAttribute)
    return bind_variable(rule, pattern.slot, value, environment);
  if (pattern.kind != Expr::Kind::kList) return Outcome::kLater;
  const auto* list = std::get_if<ir::Integers>(&value);
  if (list == nullptr || list->size() != pattern.arguments.size()) return Outcome::kMismatch;
  Outcome all = Outcome::kBound;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const Outcome one = bind_attr(rule, pattern.arguments[i], AttrValue((*list)[i]), environment);
    if (one == Outcome::kMismatch) return one;
    if (one == Outcome::kLater) all = one;
  }
  return all;
}

const Term::Attr* listed(const Term& term, std::string_view name) {
  const auto found = std::ranges::find(term.attrs, name, &Term::Attr::name);
  return found != term.attrs.end() ? &*found : nullptr;
}

const ir::AttrSpec* spec_of(const ir::Operator& op, std::string_view name) {
  const auto found = std::ranges::find(op.attrs(), name, &ir::AttrSpec::name);
  return found != op.attrs().end() ? &*found : nullptr;
}

// Captures the attributes, or compares them with those captured before.
bool bind_spread(const Term& term, const ir::Attrs& attrs, Environment& environment) {
  const ir::Attrs*& captured = environment.spreads[static_cast<std::size_t>(term.spread)];
  if (captured == nullptr) {
    captured = &attrs;
    return true;
  }
  return std::ranges::all_of(attrs.entries(), [&](const ir::Attrs::Entry& entry) {
    if (listed(term, entry.name) != nullptr) return true;
    const AttrValue* other = captured->find(entry.name);
    return other == nullptr || same_value(*other, entry.value);
  });
}

struct Check {
  const Expr* pattern;
  const AttrValue* value;
};

bool bind_term(const Rule& rule, const Term& term, const ir::Attrs& attrs, Environment& environment,
               std::vector<Check>& later) {
  if (term.spread >= 0 && !bind_spread(term, attrs, environment)) return false;
  for (const ir::Attrs::Entry& entry : attrs.entries()) {
    if (const Term::Attr* attr = listed(term, entry.name)) {
      const Outcome outcome = bind_attr(rule, attr->value, entry.value, environment);
      if (outcome == Outcome::kMismatch) return false;
      if (outcome == Outcome::kLater) later.push_back({&attr->value, &entry.value});
    } else if (term.spread == Term::kNoSpread) {
      const ir::AttrSpec* spec = spec_of(*term.op, entry.name);
      if (spec == nullptr || !spec->default_value || !same_value(*spec->default_value, entry.value))
        return false;
    }
  }
  return true;
}

}  // namespace

// Equality of the rule language, in which 1 and 1.0 are equal.
bool same_value(const AttrValue& a, const AttrValue& b) {
  static const ExprFunction* const kEqual = find_function("==");
  const AttrValue* const both[] = {&a, &b};
  const auto result = kEqual->call({}, ExprArguments(both));
  return result && std::get<std::int64_t>(*result) != 0;
}

Environment make_environment(const Rule& rule) {
  Environment environment;
  environment.tensors.resize(rule.tensors.size());
  environment.attributes.resize(rule.attributes.size());
  environment.spreads.resize(rule.spreads.size(), nullptr);
  return environment;
}

// The order: bind the matched attributes, evaluate the lets, compare the postponed patterns, and
// evaluate the conditions.
bool bind_sources(const Rule& rule, std::span<const MatchedTerm> matched,
                  Environment& environment) {
  std::ranges::fill(environment.attributes, std::nullopt);
  std::ranges::fill(environment.spreads, nullptr);
  std::vector<Check> later;
  for (const MatchedTerm& match : matched) {
    if (!bind_term(rule, *match.term, *match.attrs, environment, later)) return false;
  }
  for (const Rule::Let& let : rule.lets) {
    if (let.attribute < 0) {
      environment.tensors[static_cast<std::size_t>(let.tensor)] = {};  // not built yet
      continue;
    }
    environment.attributes[static_cast<std::size_t>(let.attribute)] =
        evaluate(let.value, environment);
  }
  for (const Check& check : later) {
    const auto value = evaluate(*check.pattern, environment);
    if (!value || !same_value(*value, *check.value)) return false;
  }
  return std::ranges::all_of(rule.conditions,
                             [&](const Expr& condition) { return holds(condition, environment); });
}

// The attributes of a new node: the captured ones that its operator has, overridden by the listed
// ones.
Result<ir::Attrs> target_attrs(const Rule& rule, const Term& term, Environment& environment) {
  ir::Attrs attrs;
  if (term.spread >= 0) {
    const ir::Attrs* captured = environment.spreads[static_cast<std::size_t>(term.spread)];
    EGRET_CHECK(captured != nullptr, "the parser binds every spread");
    for (const ir::Attrs::Entry& entry : captured->entries()) {
      if (spec_of(*term.op, entry.name) != nullptr) attrs.set(entry.name, entry.value);
    }
  }
  for (const Term::Attr& attr : term.attrs) {
    auto value = evaluate(attr.value, environment);
    if (!value) {
      return base::bad_input("rule '" + rule.name + "': " + attr.name + "=" +
                             to_string(rule, attr.value) + " has no value");
    }
    // An integer is accepted where a real is expected.
    const ir::AttrSpec* spec = spec_of(*term.op, attr.name);
    if (const auto* integer = std::get_if<std::int64_t>(&*value);
        integer != nullptr && spec->kind == ir::AttrKind::kReal) {
      value = AttrValue(static_cast<double>(*integer));
    }
    attrs.set(attr.name, *std::move(value));
  }
  return ir::canonical_attrs(term.op->attrs(), attrs);
}

// Tensor arguments are built first: a number takes the element type of the first of them.
Result<TermSink::Handle> build_term(const Rule& rule, const Term& term, Environment& environment,
                                    TermSink& sink) {
  if (term.kind == Term::Kind::kTensor)
    return environment.tensors[static_cast<std::size_t>(term.slot)].identity;
  EGRET_CHECK(term.kind == Term::Kind::kApply, "a number stands beside a tensor");
  std::vector<TermSink::Handle> arguments(term.arguments.size());
  std::optional<ir::DType> dtype;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (term.arguments[i].kind == Term::Kind::kScalar) continue;
    EGRET_ASSIGN_OR_RETURN(arguments[i], build_term(rule, term.arguments[i], environment, sink));
    if (!dtype) dtype = sink.facts(arguments[i]).type.dtype;
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (term.arguments[i].kind != Term::Kind::kScalar) continue;
    const auto value = evaluate(term.arguments[i].value.front(), environment);
    const auto* integer = value ? std::get_if<std::int64_t>(&*value) : nullptr;
    const auto* real = value ? std::get_if<double>(&*value) : nullptr;
    if ((integer == nullptr && real == nullptr) || !dtype) {
      return base::bad_input("rule '" + rule.name + "': the number " +
                             to_string(rule, term.arguments[i]) + " has no value or no type");
    }
    EGRET_ASSIGN_OR_RETURN(
        arguments[i],
        sink.scalar(*dtype, integer != nullptr ? static_cast<double>(*integer) : *real));
  }
  EGRET_ASSIGN_OR_RETURN(const ir::Attrs attrs, target_attrs(rule, term, environment));
  return sink.apply(*term.op, attrs, arguments);
}

Status build_let(const Rule& rule, const Rule::Let& let, Environment& environment, TermSink& sink) {
  if (let.attribute >= 0) {
    auto& value = environment.attributes[static_cast<std::size_t>(let.attribute)];
    value = evaluate(let.value, environment);
    return value ? base::ok()
                 : base::bad_input("rule '" + rule.name + "': ?" +
                                   rule.attributes[static_cast<std::size_t>(let.attribute)] +
                                   " has no value");
  }
  EGRET_ASSIGN_OR_RETURN(const TermSink::Handle built,
                         build_term(rule, let.term, environment, sink));
  environment.tensors[static_cast<std::size_t>(let.tensor)] = {&sink.facts(built), built};
  return base::ok();
}

}  // namespace egret::rules
