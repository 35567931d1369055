// SPDX-License-Identifier: Apache-2.0
// Denotations as text, the way the documentation writes them.
#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <charconv>
#include <limits>

#include "ir/core/denotation.h"
#include "ir/graph/definition.h"
#include "ir/graph/text_cursor.h"

namespace egret::ir {
namespace {

// Binding strength, loosest first.
enum Strength { kLoosest, kOr, kAnd, kComparison, kSum, kProduct, kAtom };

std::string number(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return {buffer, end};
}

std::string_view name_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum: return "sum";
    case Reduction::kProd: return "prod";
    case Reduction::kMax: return "max";
    case Reduction::kMin: return "min";
  }
  return "?";
}

// Names that would read as something else are put in quotes.
std::string symbol_text(std::string_view name) {
  const bool plain = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  const bool starts_well = !name.empty() && !(name[0] >= '0' && name[0] <= '9');
  return plain && starts_well ? std::string(name) : quoted_text(name);
}

class Writer {
 public:
  explicit Writer(std::span<const std::string> inputs) : inputs_(inputs) {}

  // Parentheses appear only where an operator binds weaker than its context demands.
  std::string write(const ExprNode* node, Strength context = kLoosest) {
    EGRET_CHECK(++depth_ < 10000, "expression nested too deep to print");
    const auto [text, strength] = form(node);
    --depth_;
    return strength < context ? "(" + text + ")" : text;
  }

 private:
  struct Form {
    std::string text;
    Strength strength;
  };

  Form infix(const ExprNode* node, std::string_view op, Strength strength) {
    std::string text =
        write(node->kids[0], strength);  // first, so that it names its variables first
    text += op;
    return {text + write(node->kids[1], static_cast<Strength>(strength + 1)), strength};
  }

  // a + -3 and a + b*-1 read better as differences.
  Form index_sum(const ExprNode* node) {
    const ExprNode* a = node->kids[0];
    const ExprNode* b = node->kids[1];
    constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
    if (b->op == ExprOp::kIndexConst && b->integer < 0 && b->integer != kLeast) {
      return {write(a, kSum) + " - " + std::to_string(-b->integer), kSum};
    }
    if (const ExprNode* subtracted = negated(b)) {
      const std::string left = write(a, kSum);
      return {left + " - " + write(subtracted, kProduct), kSum};
    }
    if (const ExprNode* subtracted = negated(a)) {
      const std::string left = write(b, kSum);
      return {left + " - " + write(subtracted, kProduct), kSum};
    }
    return infix(node, " + ", kSum);
  }

  static const ExprNode* negated(const ExprNode* node) {
    const bool is = node->op == ExprOp::kIndexMul && node->kids[1]->op == ExprOp::kIndexConst &&
                    node->kids[1]->integer == -1;
    return is ? node->kids[0] : nullptr;
  }

  // a + 1 <= b is how a < b is kept.
  Form index_order(const ExprNode* node) {
    const ExprNode* a = node->kids[0];
    const bool strict = a->op == ExprOp::kIndexAdd && a->kids[1]->op == ExprOp::kIndexConst &&
                        a->kids[1]->integer == 1;
    if (!strict) return infix(node, " <= ", kComparison);
    const std::string left = write(a->kids[0], kSum);
    return {left + " < " + write(node->kids[1], kSum), kComparison};
  }

  Form prefix(const ExprNode* node, std::string_view name) {
    std::string text(name);
    text += '(';
    for (std::size_t i = 0; i < node->kids.size(); ++i) {
      if (i > 0) text += ", ";
      text += write(node->kids[i]);
    }
    return {text + ")", kAtom};
  }

  // Variables are named in the order in which they are met, not by their number in the pool.
  std::string variable(const ExprNode* node) {
    const auto [it, added] = variables_.try_emplace(node->integer, variables_.size());
    return "i" + std::to_string(it->second);
  }

  Form read(const ExprNode* node) {
    const auto input = static_cast<std::size_t>(node->integer);
    std::string text = input < inputs_.size() ? inputs_[input] : "in" + std::to_string(input);
    text += '[';
    for (std::size_t i = 0; i < node->kids.size(); ++i) {
      if (i > 0) text += ", ";
      text += write(node->kids[i]);
    }
    return {text + "]", kAtom};
  }

  Form reduce(const ExprNode* node) {
    std::string text(name_of(node->reduction));
    text += " " + write(node->kids[0], kAtom) + " < " + write(node->kids[1], kSum);
    if (node->kids[2]->op != ExprOp::kGuardConst) text += " where " + write(node->kids[2], kAnd);
    return {text + ". " + write(node->kids[3], kProduct), kLoosest};
  }

  Form form(const ExprNode* node) {
    switch (node->op) {
      case ExprOp::kIndexConst:
        return {std::to_string(node->integer), node->integer < 0 ? kSum : kAtom};
      case ExprOp::kSymbol: return {symbol_text(node->name), kAtom};
      case ExprOp::kVar: return {variable(node), kAtom};
      case ExprOp::kIndexAdd: return index_sum(node);
      case ExprOp::kAdd: return infix(node, " + ", kSum);
      case ExprOp::kSub: return infix(node, " - ", kSum);
      case ExprOp::kIndexMul:
      case ExprOp::kMul: return infix(node, "*", kProduct);
      case ExprOp::kDiv: return infix(node, "/", kProduct);
      case ExprOp::kIndexDiv: return prefix(node, "div");
      case ExprOp::kIndexMod: return prefix(node, "mod");
      case ExprOp::kIndexMin:
      case ExprOp::kMin: return prefix(node, "min");
      case ExprOp::kIndexMax:
      case ExprOp::kMax: return prefix(node, "max");
      case ExprOp::kIndexOf: return prefix(node, "index");
      case ExprOp::kScalarOf: return prefix(node, "scalar");
      case ExprOp::kGuardConst: return {node->integer != 0 ? "true" : "false", kAtom};
      case ExprOp::kIndexLe: return index_order(node);
      case ExprOp::kScalarLe: return infix(node, " <= ", kComparison);
      case ExprOp::kScalarLt: return infix(node, " < ", kComparison);
      case ExprOp::kIndexEq:
      case ExprOp::kScalarEq: return infix(node, " == ", kComparison);
      case ExprOp::kAnd: return infix(node, " and ", kAnd);
      case ExprOp::kOr: return infix(node, " or ", kOr);
      case ExprOp::kNot: return {"not " + write(node->kids[0], kAtom), kAtom};
      case ExprOp::kConst: return {number(node->real), node->real < 0 ? kSum : kAtom};
      case ExprOp::kRead: return read(node);
      case ExprOp::kNeg: return {"-" + write(node->kids[0], kProduct), kSum};
      case ExprOp::kCall: return prefix(node, facts(node->function).name);
      case ExprOp::kSelect: return prefix(node, "select");
      case ExprOp::kReduce: return reduce(node);
      case ExprOp::kCast: return prefix(node, to_string(node->dtype));
    }
    return {"?", kAtom};
  }

  std::span<const std::string> inputs_;
  boost::unordered_flat_map<std::int64_t, std::size_t> variables_;
  int depth_ = 0;
};

}  // namespace

std::string to_string(Index value) {
  return value.is_constant() ? std::to_string(value.constant()) : Writer({}).write(value.node());
}

std::string to_string(Guard value) {
  return value.is_constant() ? (value.is_true() ? "true" : "false")
                             : Writer({}).write(value.node());
}

std::string to_string(Scalar value, std::span<const std::string> input_names) {
  return value.is_constant() ? number(value.constant()) : Writer(input_names).write(value.node());
}

std::string to_string(const Denotation& denotation, std::span<const std::string> input_names) {
  Writer writer(input_names);
  std::string text = "out[";
  for (const Index& var : denotation.vars) {
    if (text.back() != '[') text += ", ";
    text += writer.write(var.node());
  }
  text += "] = ";
  const Scalar value = denotation.value;
  return text + (value.is_constant() ? number(value.constant()) : writer.write(value.node()));
}

}  // namespace egret::ir
