// SPDX-License-Identifier: Apache-2.0
// Sizes and attributes as symbols that remember one example. This generalizes a concrete instance
// of a rule ("concolic" evaluation: Godefroid, Klarlund, Sen, DART, PLDI 2005).
//
// While a scope is alive on a thread, a caller can make symbols, each with its value in the
// example. An integer can stand for an expression over symbols, and passes through attributes,
// lists and rule expressions like any integer. Code that computes with attribute integers has two
// options. It handles symbolic integers (Definition::size, rule expressions), or it sees the
// example's value; then the scope records the condition that the symbol has that value. A branch on
// symbols takes the example's side and records the condition of that side. The result therefore
// holds for all values that satisfy conditions(), and the example is one of them.
//
// Scopes nest on a thread; the innermost one is current. Outside of any scope no integer is
// symbolic.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/core/attributes.h"
#include "ir/core/denotation.h"
#include "ir/core/symbol_values.h"
#include "ir/core/tensor_type.h"

namespace egret::ir {

// One step of the path that the example takes: the truth of a comparison, or the value of an
// expression where code needed a number.
struct Decision {
  const ExprNode* on = nullptr;  // a comparison, or an index expression
  bool is_value = false;         // which of the two
  std::int64_t outcome = 0;      // 0 or 1, or the value

  // The decision as a condition on the symbols.
  Guard guard() const;
  friend bool operator==(const Decision&, const Decision&) = default;
};

class SymbolicScope {
 public:
  SymbolicScope();
  // A scope whose results hold for all values of the symbols: `holds` decides a guard for all
  // values at once (nullopt: it depends on them, or is not known), and nothing follows from the
  // examples. Code that asked for more than can be decided gets the example's side, and the scope
  // remembers that; the caller must then discard the result.
  // `assume` is told what the program itself requires of its sizes.
  using Holds = std::function<std::optional<bool>(Guard)>;
  using Assume = std::function<void(Guard)>;
  SymbolicScope(SymbolValues examples, Holds holds, Assume assume = {});
  ~SymbolicScope();
  SymbolicScope(const SymbolicScope&) = delete;
  SymbolicScope& operator=(const SymbolicScope&) = delete;

  // The innermost scope of this thread, or nullptr.
  static SymbolicScope* current();

  // Whether something was asked since the last call that does not hold for all values alike.
  bool take_undecided() { return std::exchange(undecided_, false); }

  // The program is meant for sizes at which the guard holds; false where none do, or where nothing
  // can be assumed.
  bool assume(Guard guard);

  // A new symbol, in symbol_pool(). Names must be new in this scope.
  Index symbol(std::string_view name, std::int64_t example);
  // Another example for a symbol of this scope. Nothing that was decided may rest on the old one.
  void set_example(std::string_view name, std::int64_t example);
  // The integer that stands for the expression; a constant is itself. Equal expressions, by
  // structure, have equal integers.
  std::int64_t integer_of(Index value);

  // The value of an expression in the example. Expressions have no variables and no reads.
  std::int64_t example(Index value) const;
  bool example(Guard guard) const;
  // The truth of the guard in the example. Records the comparisons that determine it as conditions.
  bool decide(Guard guard);
  std::int64_t concretize(Index value);

  const std::vector<Guard>& conditions() const { return conditions_; }
  // The path of the example. Two examples take the same decisions up to the first with different
  // outcomes, because the code between decisions sees no number. The decisions imply conditions();
  // they also contain the parts of a disjunction that failed before one held.
  const std::vector<Decision>& decisions() const { return decisions_; }
  const SymbolValues& examples() const { return examples_; }

 private:
  friend std::optional<bool> decided(Guard condition);
  friend std::optional<std::int64_t> open_integer(Index size);
  friend bool is_symbolic(std::int64_t integer);
  friend Index index_of_integer(std::int64_t integer);
  friend const Integers& concrete_integers(const Integers& integers);
  friend const Integers& concrete_axes(const Integers& integers, std::int64_t rank);

  void note(const ExprNode& node, bool truth);
  void note_path(const ExprNode& node, bool truth);

  SymbolicScope* outer_;
  Holds holds_;
  Assume assume_;
  bool undecided_ = false;
  SymbolValues examples_;
  std::vector<const ExprNode*> expressions_;  // by integer
  std::map<const ExprNode*, std::int64_t> integers_;
  std::vector<Guard> conditions_;
  std::set<const ExprNode*> decided_;
  std::vector<Decision> decisions_;
  std::set<const ExprNode*> on_path_;  // of decisions_
  std::deque<Integers> concrete_;
};

// The integer for a size in a scope for all values; nullopt for a symbolic size elsewhere.
std::optional<std::int64_t> open_integer(Index size);

// The truth of the condition in the current scope's example, recorded as a condition; nullopt where
// the example does not determine it.
std::optional<bool> decided(Guard condition);
// Whether the integer stands for an expression of the current scope.
bool is_symbolic(std::int64_t integer);
Index index_of_integer(std::int64_t integer);
// The integer. For a symbolic one: its value in the example, recorded as a condition.
std::int64_t concrete_integer(std::int64_t integer);
// The expression itself, or a constant if a scope gives it a value in its example.
Index concrete_index(Index value);
// The integer as an axis of a tensor of that rank. A symbolic one outside of the rank is the
// example's value without a condition on it: the caller must refuse all such values alike.
std::int64_t concrete_axis(std::int64_t integer, std::int64_t rank);
const Integers& concrete_axes(const Integers& integers, std::int64_t rank);
// concrete_integer() for each element; the reference lives as long as the scope or the argument.
const Integers& concrete_integers(const Integers& integers);

}  // namespace egret::ir
