// SPDX-License-Identifier: Apache-2.0
// Compiled search for one Pattern (e-matching as a join: Zhang et al., Relational E-Matching, POPL
// 2022; the backtracking program: de Moura and Bjorner, CADE 2007).
//
// A pattern's atoms are visited in some order; each visit draws nodes from the narrowest list that
// what is already bound permits:
//   lookup    all children are bound                  the hash-cons, one node at most
//   class     the atom's class is bound               that class's nodes, one operator's range
//   parents   a child is bound                        that child's parents
//   operator  nothing is bound                        the operator's nodes
// so that shared variables of a multi-pattern are joins on an index and never a product. The first
// atom is chosen at each search by counting: the rarest operator or the smallest parent list wins.
// Before going deeper, the mask of a bound class must have all operators that its atoms ask for.
//
// Order of matches is a function of the e-graph and the pattern alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "egraph/egraph.h"
#include "egraph/limits.h"
#include "egraph/pattern.h"

namespace egret::egraph {

// Matches of one pattern, flat: a row holds the classes of all variables, then the operators.
class MatchBuffer {
 public:
  MatchBuffer() = default;
  MatchBuffer(std::size_t vars, std::size_t op_vars) : vars_(vars), op_vars_(op_vars) {}

  std::size_t size() const { return size_; }
  Match operator[](std::size_t i) const {
    return {std::span(classes_).subspan(i * vars_, vars_),
            std::span(ops_).subspan(i * op_vars_, op_vars_)};
  }
  void push(std::span<const ClassId> classes, std::span<const OpId> ops) {
    classes_.insert(classes_.end(), classes.begin(), classes.end());
    ops_.insert(ops_.end(), ops.begin(), ops.end());
    ++size_;
  }
  void clear() { classes_.clear(), ops_.clear(), size_ = 0; }
  std::size_t row_bytes() const { return vars_ * sizeof(ClassId) + op_vars_ * sizeof(OpId); }
  std::size_t bytes() const {
    return classes_.capacity() * sizeof(ClassId) + ops_.capacity() * sizeof(OpId);
  }

 private:
  std::size_t vars_ = 0;
  std::size_t op_vars_ = 0;
  std::size_t size_ = 0;
  std::vector<ClassId> classes_;
  std::vector<OpId> ops_;
};

enum class SearchEnd : unsigned char {
  kComplete,   // all matches are in the buffer
  kCapped,     // there are more than max_matches
  kExhausted,  // the budget is spent; the buffer holds some of the matches
};

class Matcher {
 public:
  // Keeps a copy of the pattern. Every atom must have its operator's arity.
  Matcher(const Pattern& pattern, const OpTable& ops);

  const Pattern& pattern() const { return pattern_; }
  MatchBuffer make_buffer() const { return {pattern_.var_count(), pattern_.op_var_count()}; }

  // Appends matches to `out`, which holds at most max_matches + 1 more afterwards. The e-graph must
  // be clean().
  SearchEnd search(const EGraph& egraph, std::uint64_t max_matches, Budget& budget,
                   MatchBuffer& out);

 private:
  struct Bind {
    std::uint32_t place;  // child index
    VarId var;
    bool check;  // compare with what is bound instead of binding
  };
  struct Step {
    enum class Kind : unsigned char { kLookup, kClass, kParents, kOperator, kEveryClass };
    Kind kind = Kind::kOperator;
    std::uint32_t atom = 0;
    VarId via;  // kParents: whose parents; kEveryClass: which variable
    std::vector<Bind> binds;
    bool result_bound = false;   // the atom's class is bound already and must agree
    bool capture_bound = false;  // so is the operator variable
  };
  struct Cursor {
    const NodeId* next = nullptr;
    const NodeId* end = nullptr;
    std::size_t index = 0;  // kOperator over a base: its next operator; kEveryClass: the next id
    NodeId found;           // kLookup
  };
  using Plan = std::vector<Step>;

  // How a search may begin, after the atoms without children were looked up.
  struct Start {
    Step::Kind kind;
    std::uint32_t atom;
    VarId via;
    Plan plan;
  };

  void make_starts();
  Plan make_plan(Step::Kind kind, std::uint32_t atom, VarId via) const;
  void add_step(Plan& plan, Step step, std::vector<bool>& bound, std::vector<bool>& captured) const;
  bool is_leaf(std::uint32_t atom) const;
  void learn_symbols(const OpTable& ops);
  bool bind_leaves(const EGraph& egraph);
  const Plan& choose_plan(const EGraph& egraph) const;
  std::uint64_t operator_count(const EGraph& egraph, std::uint32_t atom) const;

  void open(const EGraph& egraph, const Step& step, Cursor& cursor) const;
  bool advance(const EGraph& egraph, const Step& step, Cursor& cursor, std::uint64_t& ticks);
  bool refill(const EGraph& egraph, const Step& step, Cursor& cursor) const;
  bool accept(const EGraph& egraph, const Step& step, NodeId node);
  bool next_class(const EGraph& egraph, VarId var, Cursor& cursor);

  Pattern pattern_;
  std::vector<std::uint64_t> needs_;   // per variable: mask bits its class must have
  std::vector<std::uint32_t> leaves_;  // atoms of exact operators without children
  std::vector<Start> starts_;
  std::vector<std::vector<bool>> accepts_;     // per atom with a base, per OpId
  std::vector<std::vector<OpId>> candidates_;  // per atom with a base: the accepted operators
  std::size_t known_ops_ = 0;

  std::vector<ClassId> classes_;  // the current assignment
  std::vector<OpId> captured_;
  std::vector<Cursor> cursors_;
};

}  // namespace egret::egraph
