// SPDX-License-Identifier: Apache-2.0
// The canonical text of rules, and the hash of their meaning.
#include <algorithm>

#include "rules/language/rule.h"

namespace egret::rules {
namespace {

// The binding strength of an expression's outermost operator; higher binds tighter.
int strength(const Expr& expr) {
  switch (expr.kind) {
    case Expr::Kind::kOr: return 1;
    case Expr::Kind::kAnd: return 2;
    case Expr::Kind::kCall: break;
    default: return 10;
  }
  const std::string_view name = expr.function->name;
  if (name == "not") return 3;
  if (name == "negative") return 8;
  if (name == "at") return 9;
  if (name == "++") return 5;
  if (name == "+" || name == "-") return 6;
  if (name == "*" || name == "/" || name == "%") return 7;
  if (find_function(name)->tensors == 0 && !(name.front() >= 'a' && name.front() <= 'z')) return 4;
  return 10;
}

// The attributes in printing order.
std::vector<const Term::Attr*> by_name(const Term& term) {
  std::vector<const Term::Attr*> sorted;
  for (const Term::Attr& attr : term.attrs) sorted.push_back(&attr);
  std::ranges::sort(sorted, {}, [](const Term::Attr* attr) { return attr->name; });
  return sorted;
}

class Printer {
 public:
  explicit Printer(const Rule& rule) : rule_(rule) {}

  std::string expr(const Expr& e, int at_least = 0) const {
    const int own = strength(e);
    std::string text = bare(e, own);
    return own < at_least ? "(" + text + ")" : text;
  }

  std::string term(const Term& t) const {
    switch (t.kind) {
      case Term::Kind::kTensor: return rule_.tensors[static_cast<std::size_t>(t.slot)];
      case Term::Kind::kScalar: return "value(" + expr(t.value.front()) + ")";
      case Term::Kind::kApply: break;
    }
    std::string text = t.op->name() + attributes(t);
    if (t.arguments.empty()) return text + "()";
    text += "(";
    for (std::size_t i = 0; i < t.arguments.size(); ++i)
      text += (i > 0 ? ", " : "") + term(t.arguments[i]);
    return text + ")";
  }

  // Everything that determines the rule's meaning.
  std::string meaning() const {
    std::string text;
    for (const Binding& source : rule_.sources) text += "  " + binding(source) + "\n";
    for (const Rule::Let& let : rule_.lets) {
      text += "  let ";
      if (let.tensor >= 0) {
        text += binding({let.tensor, let.term});
      } else {
        text += "?" + rule_.attributes[static_cast<std::size_t>(let.attribute)] + " = " +
                expr(let.value);
      }
      text += "\n";
    }
    for (const Expr& condition : rule_.conditions) text += "  where " + expr(condition) + "\n";
    for (std::size_t i = 0; i < rule_.targets.size(); ++i)
      text += (i == 0 ? "  => " : "     ") + binding(rule_.targets[i]) + "\n";
    return text;
  }

 private:
  std::string binding(const Binding& b) const {
    return rule_.tensors[static_cast<std::size_t>(b.tensor)] + " = " + term(b.term);
  }

  std::string attributes(const Term& t) const {
    std::vector<std::string> parts;
    if (t.spread == Term::kAnySpread) parts.emplace_back("*");
    if (t.spread >= 0) parts.push_back("*" + rule_.spreads[static_cast<std::size_t>(t.spread)]);
    for (const Term::Attr* attr : by_name(t)) parts.push_back(attr->name + "=" + expr(attr->value));
    if (parts.empty()) return "";
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "{" : ", ") + part;
    return text + "}";
  }

  std::string infix(const Expr& e, std::string_view op, int own) const {
    return expr(e.arguments[0], own) + " " + std::string(op) + " " + expr(e.arguments[1], own + 1);
  }

  std::string arguments(const Expr& e) const {
    std::string text;
    for (const Expr& argument : e.arguments) text += (text.empty() ? "" : ", ") + expr(argument);
    return text;
  }

  std::string bare(const Expr& e, int own) const {
    const auto slot = static_cast<std::size_t>(e.slot);
    switch (e.kind) {
      case Expr::Kind::kLiteral: return ir::to_string(e.value);
      case Expr::Kind::kAttribute: return "?" + rule_.attributes[slot];
      case Expr::Kind::kSpread: return rule_.spreads[slot] + "." + e.name;
      case Expr::Kind::kLoop: return "i" + std::to_string(e.slot);
      case Expr::Kind::kTensor: return rule_.tensors[slot];
      case Expr::Kind::kList: return "[" + arguments(e) + "]";
      case Expr::Kind::kIf: return "if(" + arguments(e) + ")";
      case Expr::Kind::kComprehension: {
        const std::string loop = "i" + std::to_string(loops_);
        std::string text = "[for " + loop + " < " + expr(e.arguments[0], 5) + ": ";
        ++loops_;
        text += expr(e.arguments[1]) + "]";
        --loops_;
        return text;
      }
      case Expr::Kind::kAnd:
      case Expr::Kind::kOr: {
        std::string text;
        for (const Expr& argument : e.arguments) {
          if (!text.empty()) text += e.kind == Expr::Kind::kAnd ? " and " : " or ";
          text += expr(argument, own + 1);
        }
        return text;
      }
      case Expr::Kind::kCall: break;
    }
    const std::string_view name = e.function->name;
    if (name == "not") return "not " + expr(e.arguments[0], own);
    if (name == "negative") return "-" + expr(e.arguments[0], own);
    if (name == "at") return expr(e.arguments[0], own) + "[" + expr(e.arguments[1]) + "]";
    if (own < 10) return infix(e, name, own);
    return std::string(name) + "(" + arguments(e) + ")";
  }

  const Rule& rule_;
  mutable int loops_ = 0;  // comprehensions around what is being printed
};

// Numbers attribute variables and spreads in the order of their occurrence in the text.
void name_attributes(const Rule& rule, Rule& plain) {
  std::vector<bool> named(rule.attributes.size(), false);
  std::vector<bool> captured(rule.spreads.size(), false);
  int next = 0;
  const auto name = [&](int slot) {
    const auto i = static_cast<std::size_t>(slot);
    if (!named[i]) plain.attributes[i] = "a" + std::to_string(next++);
    named[i] = true;
  };
  int next_spread = 0;
  for (const Binding& source : rule.sources) {
    for_each_subterm(source.term, [&](const Term& part) {
      if (part.spread >= 0 && !captured[static_cast<std::size_t>(part.spread)]) {
        captured[static_cast<std::size_t>(part.spread)] = true;
        plain.spreads[static_cast<std::size_t>(part.spread)] = "s" + std::to_string(next_spread++);
      }
      for (const Term::Attr* attr : by_name(part)) {
        for_each_part(attr->value, [&](const Expr& e) {
          if (e.kind == Expr::Kind::kAttribute) name(e.slot);
        });
      }
    });
  }
  for (const Rule::Let& let : rule.lets) {
    if (let.attribute >= 0) name(let.attribute);
  }
}

// The rule with its names replaced by numbers, in the order of first use in its sources.
Rule with_plain_names(const Rule& rule) {
  Rule plain = rule;
  std::vector<bool> named(rule.tensors.size(), false);
  int next = 0;
  const auto name = [&](int slot) {
    const auto i = static_cast<std::size_t>(slot);
    if (named[i]) return;
    named[i] = true;
    plain.tensors[i] = (rule.is_variable(slot) ? "?t" : "v") + std::to_string(next++);
  };
  for (const Binding& source : rule.sources) {
    name(source.tensor);
    for_each_subterm(source.term, [&](const Term& part) {
      if (part.kind == Term::Kind::kTensor) name(part.slot);
    });
  }
  for (std::size_t i = 0; i < rule.tensors.size(); ++i) name(static_cast<int>(i));
  name_attributes(rule, plain);
  return plain;
}

}  // namespace

bool Rule::has_tag(std::string_view tag) const {
  return std::ranges::find(tags, tag) != tags.end();
}

std::string to_string(const Rule& rule) {
  std::string text = "rule " + rule.name;
  if (!rule.doc.empty()) text += " \"" + rule.doc + "\"";
  if (!rule.tags.empty()) {
    std::string tags;
    for (const std::string& tag : rule.tags) tags += (tags.empty() ? "" : ", ") + tag;
    text += " [" + tags + "]";
  }
  const Printer printer(rule);
  text += "\n";
  const std::string meaning = printer.meaning();
  const std::size_t arrow = meaning.find("  => ");
  text += meaning.substr(0, arrow);
  for (const Expr& heuristic : rule.heuristics)
    text += "  heuristic " + printer.expr(heuristic) + "\n";
  return text + meaning.substr(arrow);
}

std::string to_string(const Rule& rule, const Term& term) { return Printer(rule).term(term); }
std::string to_string(const Rule& rule, const Expr& expr) { return Printer(rule).expr(expr); }

base::ContentHash content_hash(const Rule& rule) {
  // A rule that holds up to rounding has another meaning than one that holds exactly.
  return base::content_hash(Printer(with_plain_names(rule)).meaning() +
                            (rule.has_tag("rounding") ? "[rounding]" : ""));
}

}  // namespace egret::rules
