// SPDX-License-Identifier: Apache-2.0
#include "rules/language/expression_parser.h"

#include <algorithm>
#include <limits>

#include "base/did_you_mean.h"

namespace egret::rules {

using base::Result;
using base::Status;

int NameTable::find(std::string_view name) const {
  const auto found = std::ranges::find(names_, name);
  return found != names_.end() ? static_cast<int>(found - names_.begin()) : -1;
}

int NameTable::add(std::string_view name, Location at) {
  if (const int slot = find(name); slot >= 0) return slot;
  names_.emplace_back(name);
  bound_.push_back(false);
  first_.push_back(at);
  members_.emplace_back();
  return static_cast<int>(names_.size()) - 1;
}

void NameTable::add_members(int slot, const std::vector<ir::AttrSpec>& specs) {
  auto& members = members_[static_cast<std::size_t>(slot)];
  for (const ir::AttrSpec& spec : specs) members.push_back(spec.name);
}

bool TokenReader::accept(std::string_view symbol) {
  if (!peek().is(symbol)) return false;
  take();
  return true;
}

Status TokenReader::expect(std::string_view symbol) {
  if (accept(symbol)) return base::ok();
  return error(peek().at, "expected '" + std::string(symbol) + "' here");
}

namespace {

Expr call_of(std::string_view function, std::vector<Expr> arguments, Location at) {
  Expr expr;
  expr.kind = Expr::Kind::kCall;
  expr.function = find_function(function);
  EGRET_CHECK(expr.function != nullptr, "an infix operator without a row");
  expr.arguments = std::move(arguments);
  expr.at = at;
  return expr;
}

Expr literal(ir::AttrValue value, Location at) {
  Expr expr;
  expr.value = std::move(value);
  expr.at = at;
  return expr;
}

}  // namespace

Result<int> ExpressionParser::attribute_slot(const Token& token) {
  const std::string name(token.text);
  if (names_.tensors.find("?" + name) >= 0) {
    return tokens_.error(token.at, "?" + name + " is a tensor; expected an attribute here");
  }
  if (names_.open) return names_.attributes.add(name, token.at);
  if (const int slot = names_.attributes.find(name); slot >= 0) return slot;
  return tokens_.error(
      token.at, "nothing binds ?" + name + base::did_you_mean(name, names_.attributes.names()));
}

Result<int> ExpressionParser::tensor_slot(const Token& token) {
  const bool variable = token.kind == Token::Kind::kVariable;
  const std::string name = (variable ? "?" : "") + std::string(token.text);
  if (variable && names_.attributes.find(token.text) >= 0)
    return tokens_.error(token.at, name + " is an attribute; expected a tensor here");
  if (variable && names_.open) return names_.tensors.add(name, token.at);
  if (const int slot = names_.tensors.find(name); slot >= 0) return slot;
  return tokens_.error(token.at, (variable ? "nothing binds " : "unknown value ") + name +
                                     base::did_you_mean(name, names_.tensors.names()));
}

// A recursive descent parser. depth_ counts nested disjunctions, through which every nesting
// passes, so it bounds the recursion.
Result<Expr> ExpressionParser::disjunction() {
  if (++depth_ > kMaxDepth)
    return tokens_.error(tokens_.peek().at, "expressions are nested too deeply");
  Expr result;
  result.kind = Expr::Kind::kOr;
  result.at = tokens_.peek().at;
  do {
    EGRET_ASSIGN_OR_RETURN(Expr part, conjunction());
    result.arguments.push_back(std::move(part));
  } while (tokens_.peek().is_word("or") && !tokens_.take().text.empty());
  --depth_;
  if (result.arguments.size() > 1) return result;
  Expr only = std::move(result.arguments.front());
  return only;
}

Result<Expr> ExpressionParser::conjunction() {
  Expr result;
  result.kind = Expr::Kind::kAnd;
  result.at = tokens_.peek().at;
  do {
    EGRET_ASSIGN_OR_RETURN(Expr part, negation());
    result.arguments.push_back(std::move(part));
  } while (tokens_.peek().is_word("and") && !tokens_.take().text.empty());
  if (result.arguments.size() > 1) return result;
  Expr only = std::move(result.arguments.front());
  return only;
}

Result<Expr> ExpressionParser::negation() {
  bool negative = false;
  const Location at = tokens_.peek().at;
  while (tokens_.peek().is_word("not")) {
    tokens_.take();
    negative = !negative;
  }
  EGRET_ASSIGN_OR_RETURN(Expr operand, infix(0));
  if (!negative) return operand;
  return call_of("not", {std::move(operand)}, at);
}

// Infix operators by level, from the loosest to the tightest; all are left-associative.
Result<Expr> ExpressionParser::infix(std::size_t level) {
  static const std::vector<std::vector<std::string_view>> kLevels = {
      {"==", "!=", "<", "<=", ">", ">="}, {"++"}, {"+", "-"}, {"*", "/", "%"}};
  if (level == kLevels.size()) return prefix();
  EGRET_ASSIGN_OR_RETURN(Expr left, infix(level + 1));
  for (;;) {
    const Token& token = tokens_.peek();
    const auto& ops = kLevels[level];
    if (token.kind != Token::Kind::kSymbol || std::ranges::find(ops, token.text) == ops.end())
      return left;
    const Token op = tokens_.take();
    EGRET_ASSIGN_OR_RETURN(Expr right, infix(level + 1));
    left = call_of(op.text, {std::move(left), std::move(right)}, op.at);
  }
}

Result<Expr> ExpressionParser::prefix() {
  bool negative = false;
  const Location at = tokens_.peek().at;
  while (tokens_.accept("-")) negative = !negative;
  EGRET_ASSIGN_OR_RETURN(Expr operand, indexed());
  if (!negative) return operand;
  if (operand.kind == Expr::Kind::kLiteral) {
    if (auto* i = std::get_if<std::int64_t>(&operand.value)) return literal(-*i, at);
    if (auto* d = std::get_if<double>(&operand.value)) return literal(-*d, at);
  }
  return call_of("negative", {std::move(operand)}, at);
}

Result<Expr> ExpressionParser::indexed() {
  EGRET_ASSIGN_OR_RETURN(Expr result, primary());
  while (tokens_.peek().is("[")) {
    const Location at = tokens_.take().at;
    EGRET_ASSIGN_OR_RETURN(Expr index, disjunction());
    EGRET_RETURN_IF_ERROR(tokens_.expect("]"));
    result = call_of("at", {std::move(result), std::move(index)}, at);
  }
  return result;
}

Result<Expr> ExpressionParser::primary() {
  const Token token = tokens_.peek();
  switch (token.kind) {
    case Token::Kind::kInteger: tokens_.take(); return literal(token.integer, token.at);
    case Token::Kind::kReal: tokens_.take(); return literal(token.real, token.at);
    case Token::Kind::kText: tokens_.take(); return literal(std::string(token.text), token.at);
    case Token::Kind::kVariable: {
      tokens_.take();
      Expr expr;
      expr.kind = Expr::Kind::kAttribute;
      expr.at = token.at;
      EGRET_ASSIGN_OR_RETURN(expr.slot, attribute_slot(token));
      return expr;
    }
    case Token::Kind::kWord: return word();
    default: break;
  }
  if (token.is("[")) return bracketed();
  if (tokens_.accept("(")) {
    EGRET_ASSIGN_OR_RETURN(Expr inner, disjunction());
    EGRET_RETURN_IF_ERROR(tokens_.expect(")"));
    return inner;
  }
  return tokens_.error(token.at, "expected an expression here");
}

// A loop variable, inf or nan, an attribute of a spread (c.axis), or a call.
Result<Expr> ExpressionParser::word() {
  const Token token = tokens_.take();
  if (const auto loop = std::find(loops_.rbegin(), loops_.rend(), token.text);
      loop != loops_.rend()) {
    Expr expr;
    expr.kind = Expr::Kind::kLoop;
    expr.slot = static_cast<int>(loops_.rend() - loop) - 1;
    expr.name = token.text;
    expr.at = token.at;
    return expr;
  }
  if (token.text == "inf" || token.text == "nan") {
    return literal(token.text == "inf" ? std::numeric_limits<double>::infinity()
                                       : std::numeric_limits<double>::quiet_NaN(),
                   token.at);
  }
  if (tokens_.accept(".")) {
    Expr expr;
    expr.kind = Expr::Kind::kSpread;
    expr.slot = names_.spreads.find(token.text);
    expr.at = token.at;
    if (expr.slot < 0) {
      return tokens_.error(token.at, "no operator's attributes are captured as *" +
                                         std::string(token.text) +
                                         base::did_you_mean(token.text, names_.spreads.names()));
    }
    if (tokens_.peek().kind != Token::Kind::kWord)
      return tokens_.error(tokens_.peek().at, "expected an attribute's name here");
    const Token member = tokens_.take();
    const auto& members = names_.spreads.members(expr.slot);
    if (std::ranges::find(members, member.text) == members.end()) {
      return tokens_.error(member.at, "no operator captured as *" + std::string(token.text) +
                                          " has an attribute '" + std::string(member.text) + "'" +
                                          base::did_you_mean(member.text, members));
    }
    expr.name = member.text;
    return expr;
  }
  if (tokens_.peek().is("(")) return token.text == "if" ? conditional(token) : call(token);
  return tokens_.error(token.at, "'" + std::string(token.text) +
                                     "' is not valid here; attribute variables begin with '?'");
}

Result<Expr> ExpressionParser::call(const Token& name) {
  const ExprFunction* function = find_function(name.text);
  if (function == nullptr) {
    std::vector<std::string> known;
    for (const ExprFunction& row : functions()) known.emplace_back(row.name);
    return tokens_.error(name.at, "unknown function '" + std::string(name.text) +
                                      "' (`egret help rules` lists them)" +
                                      base::did_you_mean(name.text, known));
  }
  std::vector<Expr> arguments;
  EGRET_RETURN_IF_ERROR(tokens_.expect("("));
  const auto total = static_cast<std::size_t>(function->tensors + function->arguments);
  while (arguments.size() < total) {
    if (!arguments.empty()) EGRET_RETURN_IF_ERROR(tokens_.expect(","));
    if (arguments.size() >= static_cast<std::size_t>(function->tensors)) {
      EGRET_ASSIGN_OR_RETURN(Expr argument, disjunction());
      arguments.push_back(std::move(argument));
      continue;
    }
    const Token token = tokens_.take();
    if (token.kind != Token::Kind::kVariable && token.kind != Token::Kind::kWord)
      return tokens_.error(token.at, "expected a tensor here");
    Expr tensor;
    tensor.kind = Expr::Kind::kTensor;
    tensor.at = token.at;
    EGRET_ASSIGN_OR_RETURN(tensor.slot, tensor_slot(token));
    arguments.push_back(std::move(tensor));
  }
  EGRET_RETURN_IF_ERROR(tokens_.expect(")"));
  return call_of(name.text, std::move(arguments), name.at);
}

Result<Expr> ExpressionParser::conditional(const Token& name) {
  Expr expr;
  expr.kind = Expr::Kind::kIf;
  expr.at = name.at;
  EGRET_RETURN_IF_ERROR(tokens_.expect("("));
  for (int i = 0; i < 3; ++i) {
    if (i > 0) EGRET_RETURN_IF_ERROR(tokens_.expect(","));
    EGRET_ASSIGN_OR_RETURN(Expr argument, disjunction());
    expr.arguments.push_back(std::move(argument));
  }
  EGRET_RETURN_IF_ERROR(tokens_.expect(")"));
  return expr;
}

Result<Expr> ExpressionParser::bracketed() {
  const Location at = tokens_.take().at;
  if (tokens_.peek().is_word("for")) return comprehension(at);
  Expr expr;
  expr.kind = Expr::Kind::kList;
  expr.at = at;
  if (tokens_.accept("]")) return expr;
  do {
    EGRET_ASSIGN_OR_RETURN(Expr element, disjunction());
    expr.arguments.push_back(std::move(element));
  } while (tokens_.accept(","));
  EGRET_RETURN_IF_ERROR(tokens_.expect("]"));
  return expr;
}

Result<Expr> ExpressionParser::comprehension(Location at) {
  tokens_.take();
  const Token name = tokens_.take();
  if (name.kind != Token::Kind::kWord)
    return tokens_.error(name.at, "expected the name of a loop variable here");
  Expr expr;
  expr.kind = Expr::Kind::kComprehension;
  expr.name = name.text;
  expr.at = at;
  EGRET_RETURN_IF_ERROR(tokens_.expect("<"));
  EGRET_ASSIGN_OR_RETURN(Expr count, infix(1));
  EGRET_RETURN_IF_ERROR(tokens_.expect(":"));
  loops_.push_back(name.text);
  auto body = disjunction();
  loops_.pop_back();
  if (!body.ok()) return body.status();
  EGRET_RETURN_IF_ERROR(tokens_.expect("]"));
  expr.arguments.push_back(std::move(count));
  expr.arguments.push_back(*std::move(body));
  return expr;
}

}  // namespace egret::rules
