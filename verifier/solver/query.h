// SPDX-License-Identifier: Apache-2.0
// A satisfiability query: can the assertions all hold? Formulas are quantifier-free, over integers
// or reals. A query is a tree that each solver translates (verifier/solver/solver.h). It can be
// written as SMT-LIB, so that anyone can repeat it.
//
//     Query query(Query::Sort::kInteger);
//     const Expression x = query.unknown("x");
//     query.add(x + x == query.number("7"));
//
// Expressions are handles. Their query must outlive them and must not move.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace egret::verifier {

class Query;

// A number or a truth value of a query.
class Expression {
 public:
  Query& query() const { return *query_; }
  std::uint32_t node() const { return node_; }

 private:
  friend class Query;
  Expression(Query& query, std::uint32_t node) : query_(&query), node_(node) {}

  Query* query_;
  std::uint32_t node_;
};

class Query {
 public:
  enum class Sort : std::uint8_t { kInteger, kReal };
  enum class Op : std::uint8_t {
    kUnknown,  // text: its name
    kNumber,   // text: "3", "-3", "-3/4"
    kTruth,    // text: "true" or "false"
    kSum,
    kProduct,
    kLess,
    kLessEqual,
    kEqual,
    kNot,
    kAnd,
    kOr,
    kImplies,
    kIf,  // condition, then, otherwise
  };
  struct Node {
    Op op = Op::kTruth;
    std::uint32_t text = 0;                // among the texts, of the first three
    std::vector<std::uint32_t> arguments;  // nodes before this one
  };

  explicit Query(Sort sort) : sort_(sort) {}
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  // Equal names denote one unknown. Names must not contain '|' or '\'.
  Expression unknown(std::string_view name);
  Expression number(std::string_view text);
  Expression number(std::int64_t value) { return number(std::to_string(value)); }
  Expression truth(bool value);
  // Needs at least one argument. kSum, kProduct, kAnd and kOr of one argument are that argument.
  Expression make(Op op, std::span<const Expression> arguments);

  void add(Expression assertion) { assertions_.push_back(assertion.node()); }

  Sort sort() const { return sort_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::string& text(const Node& node) const { return texts_[node.text]; }
  const std::vector<std::uint32_t>& assertions() const { return assertions_; }

  // Its SMT-LIB logic: QF_LIA (QF_NIA with products of unknowns) or QF_NRA.
  std::string_view logic() const {
    if (sort_ == Sort::kReal) return "QF_NRA";
    return nonlinear_ ? "QF_NIA" : "QF_LIA";
  }
  // An SMT-LIB script that declares, asserts and checks.
  std::string to_smt_lib() const;
  // Equal for queries that differ only in the names of unknowns.
  std::string key() const;

 private:
  Expression append(Node node);
  std::uint32_t keep(std::string_view text);

  Sort sort_;
  bool nonlinear_ = false;
  std::vector<Node> nodes_;
  std::vector<std::string> texts_;
  std::map<std::string, std::uint32_t, std::less<>> unknowns_;  // to nodes
  std::vector<std::uint32_t> assertions_;
};

Expression operator+(Expression a, Expression b);
Expression operator*(Expression a, Expression b);
Expression operator<(Expression a, Expression b);
Expression operator<=(Expression a, Expression b);
Expression operator==(Expression a, Expression b);
Expression operator<(std::int64_t a, Expression b);
Expression operator<=(std::int64_t a, Expression b);
Expression operator==(Expression a, std::int64_t b);
Expression operator!(Expression a);
Expression operator&&(Expression a, Expression b);
Expression operator||(Expression a, Expression b);
Expression implies(Expression a, Expression b);
Expression if_else(Expression condition, Expression then, Expression otherwise);

}  // namespace egret::verifier
