// SPDX-License-Identifier: Apache-2.0
// A discrimination trie of search programs: the programs of many patterns, merged by common
// prefixes (the code trees of Vampire, Riazanov and Voronkov 2003, and of de Moura and Bjorner's
// e-matcher, CADE 2007).
//
// A plan (egraph/search/join_plan.h) is compiled to alternating expansions and branches. An
// expansion enumerates nodes from a list and writes the class, operator and children of each into
// its registers. A branch is a list of filters over registers, followed by matches or further
// expansions. Registers are numbered in order of binding, independent of variable names. All rules
// that begin with (+ ?a ?b) thus share their first expansion: each node is read once, and the masks
// of its children reject most rules early.
//
// The first registers hold the classes of the constants of all patterns, one register each.
//
// Immutable after construction, except for learn_symbols(), which must be called when new operators
// were interned.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "egraph/core/egraph.h"
#include "egraph/core/ids.h"
#include "egraph/core/pattern.h"
#include "egraph/search/join_plan.h"

namespace egret::egraph {

class SearchTrie {
 public:
  using Register = std::uint16_t;
  using Kind = JoinStep::Kind;

  struct Filter {
    enum class Kind : std::uint8_t {
      kSame,          // registers a and b hold one class
      kSameOperator,  // operator registers a and b hold one operator
      kAccepts,       // a's operator is accepted by symbols()[table]
      kOld,           // the node is not new
      kNeeds,         // a's class has operators of all bases in the mask
    };
    Kind kind = Kind::kSame;
    Register a = 0;
    Register b = 0;
    std::uint32_t table = 0;
    std::uint64_t mask = 0;

    friend bool operator==(const Filter&, const Filter&) = default;
  };

  struct Expansion {
    bool once = false;  // draws nothing, but holds once (a pattern of constants alone)
    Kind kind = Kind::kOperator;
    OpId op;      // the exact operator, or invalid:
    BaseId base;  // any operator of this base with `arity` children
    std::uint32_t arity = 0;
    Register via = 0;              // kClass, kParents: the class
    std::vector<Register> vias;    // kParents: all children that are bound, via among them
    Register out = 0;              // where the node's class goes; kClass: the same as via
    Register first_child = 0;      // where its children go; not for kLookup, which has them in
    std::vector<Register> lookup;  // these
    Register op_out = 0;           // where an operator of `base` goes
    std::vector<std::uint32_t> branches;
    bool is_last = false;  // draws from one list, and no expansion follows

    bool draws_like(const Expansion& other) const;
  };

  struct Branch {
    std::vector<Filter> filters;
    std::vector<std::uint32_t> plans;  // whose matches are complete here
    std::vector<std::uint32_t> expansions;
  };

  struct Plan {
    std::uint32_t pattern = 0;
    bool incremental = false;
    bool climbs = false;            // begins at a node below the pattern's top
    std::uint32_t root = 0;         // its first expansion
    std::vector<Register> classes;  // for each variable
    std::vector<Register> ops;      // for each operator variable
    // The plan's path through the trie.
    std::vector<std::uint32_t> expansions;
    std::vector<std::uint32_t> branches;
  };

  // The operators that a pattern's atom accepts; see Pattern::require().
  struct Symbols {
    const Pattern* pattern;
    OpVarId capture;
    BaseId base;
    std::size_t arity;
    std::vector<bool> accepts;  // by OpId
    std::vector<OpId> accepted;
  };

  // Requirements on the constants of a pattern; if they fail, the pattern has no match.
  struct Constants {
    std::vector<Register> all;
    std::vector<Filter> filters;  // kSame, kNeeds
  };

  // Patterns must outlive the trie. Their atoms must have their operators' arities.
  SearchTrie(std::span<const Pattern* const> patterns, const OpTable& ops);

  // Evaluates the patterns' predicates on new operators.
  void learn_symbols(const OpTable& ops);

  std::span<const Plan> plans() const { return plans_; }
  // The plans of a pattern. Its incremental plans are stored after its full plans.
  std::span<const Plan> full_plans(std::uint32_t pattern) const;
  std::span<const Plan> incremental_plans(std::uint32_t pattern) const;
  std::uint32_t index_of(const Plan& plan) const {
    return static_cast<std::uint32_t>(&plan - plans_.data());
  }

  std::span<const std::uint32_t> roots() const { return roots_; }
  const Expansion& expansion(std::uint32_t i) const { return expansions_[i]; }
  const Branch& branch(std::uint32_t i) const { return branches_[i]; }
  const Symbols& symbols(std::uint32_t i) const { return symbols_[i]; }
  std::size_t expansion_count() const { return expansions_.size(); }
  std::size_t branch_count() const { return branches_.size(); }
  std::size_t register_count() const { return register_count_; }
  std::size_t op_register_count() const { return op_register_count_; }
  std::size_t depth() const { return depth_; }  // expansions on the longest way
  std::size_t pattern_count() const { return patterns_.size(); }

  std::span<const OpId> constants() const { return constants_; }
  const Constants& constants_of(std::uint32_t pattern) const {
    return patterns_[pattern].constants;
  }

 private:
  friend class PlanCompiler;
  struct PerPattern {
    std::uint32_t full_begin = 0, incremental_begin = 0, end = 0;  // in plans_
    Constants constants;
    std::vector<std::uint64_t> needs;    // per variable: mask bits its class must have
    std::vector<std::uint32_t> symbols;  // per atom with a base: index into symbols_
  };

  void add_pattern(const Pattern& pattern, const OpTable& ops);
  void add_constants(const Pattern& pattern, const JoinPlanner& planner, PerPattern& made);
  Register constant(OpId op);
  std::uint32_t add_expansion(std::vector<std::uint32_t>& siblings, Expansion expansion);
  std::uint32_t add_branch(std::uint32_t expansion, std::vector<Filter> filters);
  bool is_last(const Expansion& expansion) const;

  std::vector<PerPattern> patterns_;
  std::vector<Plan> plans_;
  std::vector<std::uint32_t> roots_;
  std::vector<Expansion> expansions_;
  std::vector<Branch> branches_;
  std::vector<Symbols> symbols_;
  std::vector<OpId> constants_;
  std::size_t register_count_ = 0;
  std::size_t op_register_count_ = 0;
  std::size_t depth_ = 0;
  std::size_t known_ops_ = 0;
};

}  // namespace egret::egraph
