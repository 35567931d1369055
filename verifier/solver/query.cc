// SPDX-License-Identifier: Apache-2.0
#include "verifier/solver/query.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace egret::verifier {
namespace {

using Op = Query::Op;

std::string_view smt_name(Op op) {
  switch (op) {
    case Op::kSum: return "+";
    case Op::kProduct: return "*";
    case Op::kLess: return "<";
    case Op::kLessEqual: return "<=";
    case Op::kEqual: return "=";
    case Op::kNot: return "not";
    case Op::kAnd: return "and";
    case Op::kOr: return "or";
    case Op::kImplies: return "=>";
    case Op::kIf: return "ite";
    case Op::kUnknown:
    case Op::kNumber:
    case Op::kTruth: break;
  }
  return "";
}

// Whether the operator yields a number; "if" is used for numbers only.
bool is_number(Op op) {
  return op <= Op::kNumber || op == Op::kSum || op == Op::kProduct || op == Op::kIf;
}

// SMT-LIB numbers have no sign, and reals have a decimal point.
std::string smt_number(std::string_view text, Query::Sort sort) {
  if (text.front() == '-') return "(- " + smt_number(text.substr(1), sort) + ")";
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos)
    return "(/ " + smt_number(text.substr(0, slash), sort) + " " +
           smt_number(text.substr(slash + 1), sort) + ")";
  return std::string(text) + (sort == Query::Sort::kReal ? ".0" : "");
}

Expression made(Op op, std::initializer_list<Expression> arguments) {
  return arguments.begin()->query().make(op, {arguments.begin(), arguments.size()});
}

}  // namespace

std::uint32_t Query::keep(std::string_view text) {
  texts_.emplace_back(text);
  return static_cast<std::uint32_t>(texts_.size() - 1);
}

Expression Query::append(Node node) {
  nodes_.push_back(std::move(node));
  return {*this, static_cast<std::uint32_t>(nodes_.size() - 1)};
}

Expression Query::unknown(std::string_view name) {
  if (const auto found = unknowns_.find(name); found != unknowns_.end())
    return {*this, found->second};
  EGRET_CHECK(name.find_first_of("|\\") == std::string_view::npos, "a name that SMT-LIB can quote");
  const Expression made = append({.op = Op::kUnknown, .text = keep(name), .arguments = {}});
  unknowns_.emplace(name, made.node());
  return made;
}

Expression Query::number(std::string_view text) {
  return append({.op = Op::kNumber, .text = keep(text), .arguments = {}});
}

Expression Query::truth(bool value) {
  return append({.op = Op::kTruth, .text = keep(value ? "true" : "false"), .arguments = {}});
}

Expression Query::make(Op op, std::span<const Expression> arguments) {
  EGRET_DCHECK(!arguments.empty());
  const bool joins = op == Op::kSum || op == Op::kProduct || op == Op::kAnd || op == Op::kOr;
  if (joins && arguments.size() == 1) return arguments.front();
  if (op == Op::kProduct) {
    const auto is_number = [&](const Expression& e) { return nodes_[e.node()].op == Op::kNumber; };
    nonlinear_ =
        nonlinear_ || std::ranges::count_if(arguments, is_number) + 1 < std::ssize(arguments);
  }
  Node node{.op = op, .arguments = {}};
  node.arguments.reserve(arguments.size());
  for (const Expression& argument : arguments) node.arguments.push_back(argument.node());
  return append(std::move(node));
}

std::string Query::to_smt_lib() const {
  std::vector<int> uses(nodes_.size(), 0);
  for (const Node& node : nodes_) {
    for (const std::uint32_t argument : node.arguments) ++uses[argument];
  }
  const std::string_view number_sort = sort_ == Sort::kInteger ? "Int" : "Real";
  std::string script = "(set-logic " + std::string(logic()) + ")\n";
  std::vector<std::string> written(nodes_.size());  // arguments come first
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    switch (node.op) {
      case Op::kUnknown:
        written[i] = "|" + text(node) + "|";
        script += "(declare-fun " + written[i] + " () " + std::string(number_sort) + ")\n";
        continue;
      case Op::kNumber: written[i] = smt_number(text(node), sort_); continue;
      case Op::kTruth: written[i] = text(node); continue;
      default: break;
    }
    written[i] = "(" + std::string(smt_name(node.op));
    for (const std::uint32_t argument : node.arguments) written[i] += " " + written[argument];
    written[i] += ")";
    if (uses[i] < 2) continue;
    // Shared nodes are defined once: written as a tree, the text could be exponentially long.
    const std::string name = ".n" + std::to_string(i);
    script += "(define-fun " + name + " () " +
              std::string(is_number(node.op) ? number_sort : "Bool") + " " + written[i] + ")\n";
    written[i] = name;
  }
  for (const std::uint32_t assertion : assertions_)
    script += "(assert " + written[assertion] + ")\n";
  return script + "(check-sat)\n";
}

// The key leaves out the names of unknowns, so that queries equal up to renaming share it.
std::string Query::key() const {
  std::string key;
  const auto put = [&](std::uint32_t number) {
    for (int byte = 0; byte < 4; ++byte) key += static_cast<char>(number >> (8 * byte) & 0xffU);
  };
  for (const Node& node : nodes_) {
    key += static_cast<char>(node.op);
    if (node.op == Op::kNumber || node.op == Op::kTruth) {
      key += text(node) + ";";
    } else {
      put(static_cast<std::uint32_t>(node.arguments.size()));
      for (const std::uint32_t argument : node.arguments) put(argument);
    }
  }
  key += static_cast<char>(sort_);
  for (const std::uint32_t assertion : assertions_) put(assertion);
  return key;
}

Expression operator+(Expression a, Expression b) { return made(Op::kSum, {a, b}); }
Expression operator*(Expression a, Expression b) { return made(Op::kProduct, {a, b}); }
Expression operator<(Expression a, Expression b) { return made(Op::kLess, {a, b}); }
Expression operator<=(Expression a, Expression b) { return made(Op::kLessEqual, {a, b}); }
Expression operator==(Expression a, Expression b) { return made(Op::kEqual, {a, b}); }
Expression operator<(std::int64_t a, Expression b) { return b.query().number(a) < b; }
Expression operator<=(std::int64_t a, Expression b) { return b.query().number(a) <= b; }
Expression operator==(Expression a, std::int64_t b) { return a == a.query().number(b); }
Expression operator!(Expression a) { return made(Op::kNot, {a}); }
Expression operator&&(Expression a, Expression b) { return made(Op::kAnd, {a, b}); }
Expression operator||(Expression a, Expression b) { return made(Op::kOr, {a, b}); }
Expression implies(Expression a, Expression b) { return made(Op::kImplies, {a, b}); }
Expression if_else(Expression condition, Expression then, Expression otherwise) {
  return made(Op::kIf, {condition, then, otherwise});
}

}  // namespace egret::verifier
