// SPDX-License-Identifier: Apache-2.0
// The content of a rule as data that outlives the Rewrite: the rule language of proofs.
//
// A search uses classes; a proof uses terms. So most variables of a pattern are not variables here:
// a variable that stands for the class of a pattern node becomes that node's expression. The
// remaining variables are the *substituted* variables, for which a proof names a term. If the class
// of a pattern node is a substituted variable ("?x = (f ?a), ?x = (g ?a)"), the node is a premise:
// an equality that must be proven before the rule may be used.
//
// text() is a canonical notation; hash() is the content hash of it:
//   (+ ?a ?b) => (+ ?b ?a)
//   (d ?x ?c) => 0 if sym(?x) and const(?c)
//   (matmul{?mm} ?x ?w), ?y = (g ?x) => (!fused ?x ?w)        !name: computed by the client
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "egraph/core/op_table.h"
#include "egraph/core/pattern.h"

namespace egret::egraph {

class ItemReader;
class ItemWriter;
class Rewrite;

class RuleForm {
 public:
  explicit RuleForm(const Rewrite& rewrite);
  // For snapshots (egraph/formats/rule_form_snapshot.cc). The reader validates the form: operators
  // of `ops` with their arity, children before parents, every variable defined once. If it is
  // invalid, `items` reports the error and the form must not be used.
  RuleForm(ItemReader& items, const OpTable& ops);
  void save(ItemWriter& items) const;

  // A node of either side.
  struct Expression {
    enum class Kind : unsigned char { kTerm, kNode, kCapturedOp, kComputedOp, kComputedTerm };
    Kind kind = Kind::kTerm;
    OpId op;                      // kNode
    BaseId base;                  // kCapturedOp
    std::uint32_t operand = 0;    // which captured or computed operator, or computed term
    std::vector<VarId> children;  // of nodes

    friend bool operator==(const Expression&, const Expression&) = default;
  };

  const std::string& name() const { return name_; }
  const std::vector<std::string>& conditions() const { return conditions_; }
  std::span<const std::pair<VarId, VarId>> equations() const { return equations_; }
  const Expression& expression(VarId var) const { return expressions_[var.index()]; }
  std::size_t var_count() const { return expressions_.size(); }
  // All variables, children before parents.
  std::span<const VarId> order() const { return order_; }
  std::span<const VarId> substituted() const { return substituted_; }

  struct Premise {
    VarId var;
    Expression is;

    friend bool operator==(const Premise&, const Premise&) = default;
  };
  std::span<const Premise> premises() const { return premises_; }

  std::size_t captured_ops() const { return op_names_.size(); }
  std::size_t computed_ops() const { return computed_op_names_.size(); }
  std::span<const VarId> computed_terms() const { return computed_terms_; }
  // Whether a condition or a builder of the client takes part in the rule.
  bool may_cite() const {
    return !conditions_.empty() || computed_ops() > 0 || !computed_terms_.empty();
  }
  // The name of a substituted variable ("?a") or of a captured operator in proofs.
  const std::string& name(VarId var) const { return names_[var.index()]; }
  const std::string& op_name(std::size_t captured) const { return op_names_[captured]; }

  std::string text(const OpTable& ops) const;
  std::string hash(const OpTable& ops) const;  // content hash of text()

  friend bool operator==(const RuleForm&, const RuleForm&) = default;

 private:
  class Reading;

  void define_variables(const Pattern& pattern);
  void add_steps(const Rewrite& rewrite);
  static Expression of_atom(const Pattern::Atom& atom);
  void write(const OpTable& ops, const Expression& root, VarId var, std::string& out) const;

  std::string name_;
  std::vector<std::string> conditions_;
  std::vector<std::pair<VarId, VarId>> equations_;
  std::vector<Expression> expressions_;  // by variable: the pattern's, then those of what is built
  std::vector<VarId> order_;
  std::vector<VarId> substituted_;
  std::vector<Premise> premises_;
  std::vector<std::string> names_;
  std::vector<std::string> op_names_;
  std::vector<std::string> computed_op_names_;
  std::vector<std::string> computed_term_names_;
  std::vector<VarId> computed_terms_;
};

}  // namespace egret::egraph
