// SPDX-License-Identifier: Apache-2.0
// A pattern to search for.
//
// A pattern is a conjunction of atoms `class = op(classes)` over class variables. A term such as (+
// ?a (* ?b 2)) is three atoms. A multi-pattern (several terms that share variables, as in "two
// matmuls that read the same input") is a larger conjunction:
//
//   Pattern p;
//   const VarId x = p.var("x"), a = p.var("a"), b = p.var("b");
//   const OpVarId first = p.op_var("first"), second = p.op_var("second");
//   const VarId left = p.node(matmul, first, {{x, a}});    // matmul: a BaseId, any attributes
//   const VarId right = p.node(matmul, second, {{x, b}});
//   p.require(first, [&](OpId op) { return activation(op) == kNone; });
//
// A match assigns a class to every variable, named or not, and an OpId to every operator variable.
// Each assignment of nodes to atoms is one match; two atoms may match the same node. A variable
// that occurs in no atom matches every class.
//
// Predicates constrain one operator symbol. They must be pure: each is evaluated once per symbol
// and pattern, and the results are cached in a bitmap.
#pragma once

#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "egraph/core/ids.h"

namespace egret::egraph {

class Pattern {
 public:
  using OpPredicate = std::function<bool(OpId)>;

  struct Atom {
    VarId result;
    OpId op;          // the exact operator, or invalid:
    BaseId base;      // any operator of this base with as many children,
    OpVarId capture;  // which this variable then holds
    std::vector<VarId> children;
  };

  // The variable of this name; makes it if it is new. An empty name always makes a new variable.
  VarId var(std::string_view name = {});
  OpVarId op_var(std::string_view name = {});

  // Adds an atom. Returns the variable of its class: `result`, or a new one.
  VarId node(OpId op, std::span<const VarId> children, VarId result = {});
  VarId node(BaseId base, OpVarId capture, std::span<const VarId> children, VarId result = {});
  VarId node(OpId op, std::initializer_list<VarId> children = {}, VarId result = {}) {
    return node(op, std::span<const VarId>(children.begin(), children.size()), result);
  }
  VarId node(BaseId base, OpVarId capture, std::initializer_list<VarId> children,
             VarId result = {}) {
    return node(base, capture, std::span<const VarId>(children.begin(), children.size()), result);
  }

  // Restricts `capture` to operators for which the predicate holds. Several predicates may be
  // given.
  void require(OpVarId capture, OpPredicate predicate);

  std::span<const Atom> atoms() const { return atoms_; }
  std::size_t var_count() const { return var_names_.size(); }
  std::size_t op_var_count() const { return op_var_names_.size(); }
  // "" for variables made without a name.
  std::string_view name(VarId var) const { return var_names_[var.index()]; }
  std::string_view name(OpVarId var) const { return op_var_names_[var.index()]; }
  VarId find_var(std::string_view name) const;
  bool allowed(OpVarId capture, OpId op) const;  // all predicates of `capture` hold

 private:
  std::vector<std::string> var_names_;
  std::vector<std::string> op_var_names_;
  std::vector<Atom> atoms_;
  std::vector<std::pair<OpVarId, OpPredicate>> predicates_;
};

// One match: the class of each variable and the operator of each operator variable. A view, valid
// as long as the buffer behind it.
class Match {
 public:
  Match(std::span<const ClassId> classes, std::span<const OpId> ops)
      : classes_(classes), ops_(ops) {}

  ClassId operator[](VarId var) const { return classes_[var.index()]; }
  OpId operator[](OpVarId var) const { return ops_[var.index()]; }
  std::span<const ClassId> classes() const { return classes_; }
  std::span<const OpId> ops() const { return ops_; }

 private:
  std::span<const ClassId> classes_;
  std::span<const OpId> ops_;
};

}  // namespace egret::egraph
