// SPDX-License-Identifier: Apache-2.0
// A rewrite rule as data.
//
//   rule merge-matmuls "two products of one matrix are slices of one product" [merge]
//     p = matmul(?x, ?a)
//     q = matmul(?x, ?b)
//     where rank(?a) == 2 and rank(?b) == 2
//     heuristic constant(?a) and constant(?b) and before(p, q)
//     let m = matmul(?x, concat{axis=1}(?a, ?b))
//     => p = slice{axis=rank(p)-1, start=0, size=dim(?a,1), step=1}(m)
//        q = slice{axis=rank(p)-1, start=dim(?a,1), size=dim(?b,1), step=1}(m)
//
// Semantics: consider all tensors and attributes that the variables stand for. If the sources are
// well-typed, every condition (`where`) holds, and the targets are well-typed with their sources'
// types, then each target equals its source. Heuristics state when applying a rule is worthwhile.
// They belong neither to its meaning nor to its content hash.
//
// Names are resolved to slots: `tensors` holds the variables (?x) and the named values (p, m),
// `attributes` the attribute variables, `spreads` the captured operators (conv{*c}).
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/hash.h"
#include "ir/graph/operator.h"
#include "rules/language/expression.h"

namespace egret::rules {

struct Term {
  enum class Kind : std::uint8_t {
    kTensor,  // slot: a variable or a named value
    kApply,   // op{spread, attrs}(arguments)
    kScalar,  // value: a rank-0 constant, of the element type of the first other argument
  };
  struct Attr {
    std::string name;
    Expr value;  // of a source: a pattern, see binding.h
    Location at{};
  };
  // The attributes captured or reused besides the listed ones.
  static constexpr int kNoSpread = -1;
  static constexpr int kAnySpread = -2;  // '*' without a name: any, not captured

  Kind kind = Kind::kTensor;
  int slot = -1;
  const ir::Operator* op = nullptr;
  int spread = kNoSpread;
  std::vector<Attr> attrs{};
  std::vector<Term> arguments{};
  std::vector<Expr> value{};  // kScalar: one
  Location at{};
};

struct Binding {
  int tensor = -1;
  Term term{};
};

struct Rule {
  // `let`: a value used in targets, or a named attribute expression.
  struct Let {
    int tensor = -1;     // of a term
    int attribute = -1;  // of an expression
    Term term{};
    Expr value{};
  };

  std::string name;
  std::string doc;
  std::vector<std::string> tags;
  std::string file;
  Location at{};

  std::vector<std::string> tensors;
  std::vector<std::string> attributes;
  std::vector<std::string> spreads;

  std::vector<Binding> sources;
  std::vector<Let> lets;
  std::vector<Expr> conditions;
  std::vector<Expr> heuristics;
  std::vector<Binding> targets;  // Binding::tensor is a source's

  bool is_multi_pattern() const { return targets.size() > 1; }
  bool is_variable(int tensor) const {
    return tensors[static_cast<std::size_t>(tensor)].front() == '?';
  }
  bool has_tag(std::string_view tag) const;
};

// The canonical text; it parses back to the same rule.
std::string to_string(const Rule& rule);
std::string to_string(const Rule& rule, const Term& term);
std::string to_string(const Rule& rule, const Expr& expr);
// A hash of the rule's meaning: sources, conditions, targets, and whether it holds up to rounding.
// It is independent of the rule's name, heuristics, other tags, and variable names.
base::ContentHash content_hash(const Rule& rule);

// Calls `visit` on a term and all its subterms, outermost first.
template <typename Visit>
void for_each_subterm(const Term& term, const Visit& visit) {
  visit(term);
  for (const Term& argument : term.arguments) for_each_subterm(argument, visit);
}

}  // namespace egret::rules
