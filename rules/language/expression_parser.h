// SPDX-License-Identifier: Apache-2.0
// The tokens and names that both parts of the rule parser share, and the parser of expressions.
// Only rule_parser.cc includes it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "rules/language/expression.h"
#include "rules/language/rule_lexer.h"

namespace egret::rules {

// The names of one sort (tensors, attributes, spreads), and whether each is bound.
class NameTable {
 public:
  int find(std::string_view name) const;
  int add(std::string_view name, Location at);  // the slot, made if it is new
  void bind(int slot) { bound_[static_cast<std::size_t>(slot)] = true; }
  bool is_bound(int slot) const { return bound_[static_cast<std::size_t>(slot)]; }
  Location first_use(int slot) const { return first_[static_cast<std::size_t>(slot)]; }
  const std::vector<std::string>& names() const { return names_; }
  // The attributes that a capture may have: those of the operators that it stands for.
  void add_members(int slot, const std::vector<ir::AttrSpec>& specs);
  const std::vector<std::string>& members(int slot) const {
    return members_[static_cast<std::size_t>(slot)];
  }

 private:
  std::vector<std::string> names_;
  std::vector<std::vector<std::string>> members_;
  std::vector<bool> bound_;
  std::vector<Location> first_;
};

class TokenReader {
 public:
  TokenReader(std::string_view file, std::string_view text, std::vector<Token> tokens)
      : file_(file), text_(text), tokens_(std::move(tokens)) {}

  const Token& peek(std::size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  Token take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool accept(std::string_view symbol);
  base::Status expect(std::string_view symbol);
  base::Status error(Location at, std::string_view message) const {
    return error_at(file_, text_, at, message);
  }
  std::string_view file() const { return file_; }

 private:
  std::string_view file_;
  std::string_view text_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

struct RuleNames {
  NameTable tensors;  // variables with their '?', named values without
  NameTable attributes;
  NameTable spreads;
  // Whether a new variable may still be bound by later text (true within sources).
  bool open = true;
};

class ExpressionParser {
 public:
  static constexpr int kMaxDepth = 64;

  ExpressionParser(TokenReader& tokens, RuleNames& names) : tokens_(tokens), names_(names) {}
  base::Result<Expr> parse() { return disjunction(); }

  // The slot of an attribute variable or tensor; makes it while names are open.
  base::Result<int> attribute_slot(const Token& token);
  base::Result<int> tensor_slot(const Token& token);

 private:
  base::Result<Expr> disjunction();
  base::Result<Expr> conjunction();
  base::Result<Expr> negation();
  base::Result<Expr> infix(std::size_t level);
  base::Result<Expr> prefix();
  base::Result<Expr> indexed();
  base::Result<Expr> primary();
  base::Result<Expr> word();
  base::Result<Expr> call(const Token& name);
  base::Result<Expr> conditional(const Token& name);
  base::Result<Expr> bracketed();
  base::Result<Expr> comprehension(Location at);

  TokenReader& tokens_;
  RuleNames& names_;
  std::vector<std::string_view> loops_;
  int depth_ = 0;
};

}  // namespace egret::rules
