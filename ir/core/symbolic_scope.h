// SPDX-License-Identifier: Apache-2.0
// Sizes and attributes as symbols that remember one example: how a concrete instance of a rule is
// made general ("concolic" evaluation: Godefroid, Klarlund, Sen, DART, PLDI 2005).
//
// While a scope is alive on a thread, symbols can be made, each with its value in the example, and
// an integer can stand for an expression over them, so that symbolic sizes pass through attributes,
// lists and rule expressions as integers do. Code that computes with attribute integers either
// knows of them (Definition::size, rule expressions) or sees the value of the example, and then the
// scope notes that the symbol must have that value. Where a choice depends on symbols it is made as
// the example makes it, and noted too. What was built is therefore right for all values that
// satisfy conditions(), and the example is one of them.
//
// Scopes nest on a thread, the innermost is meant; outside of any scope no integer is symbolic.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/core/attributes.h"
#include "ir/core/denotation.h"
#include "ir/core/symbol_values.h"
#include "ir/core/tensor_type.h"

namespace egret::ir {

class SymbolicScope {
 public:
  SymbolicScope();
  ~SymbolicScope();
  SymbolicScope(const SymbolicScope&) = delete;
  SymbolicScope& operator=(const SymbolicScope&) = delete;

  // The innermost scope of this thread, or nullptr.
  static SymbolicScope* current();

  // A new symbol, in symbol_pool(). Names must be new in this scope.
  Index symbol(std::string_view name, std::int64_t example);
  // The integer that stands for the expression; a constant is itself. Equal expressions, by
  // structure, have equal integers.
  std::int64_t integer_of(Index value);

  // What expressions are in the example. Expressions have no variables and read nothing.
  std::int64_t example(Index value) const;
  bool example(Guard guard) const;
  // The truth of the guard in the example; notes as conditions, comparisons all, what makes it so.
  bool decide(Guard guard);
  std::int64_t concretize(Index value);

  const std::vector<Guard>& conditions() const { return conditions_; }
  const SymbolValues& examples() const { return examples_; }

 private:
  friend bool is_symbolic(std::int64_t integer);
  friend Index index_of_integer(std::int64_t integer);
  friend const Integers& concrete_integers(const Integers& integers);

  void note(const ExprNode& node, bool truth);

  SymbolicScope* outer_;
  SymbolValues examples_;
  std::vector<const ExprNode*> expressions_;  // by integer
  std::map<const ExprNode*, std::int64_t> integers_;
  std::vector<Guard> conditions_;
  std::set<const ExprNode*> decided_;
  std::deque<Integers> concrete_;
};

// What the example of the current scope says, which is noted; nullopt where it says nothing.
std::optional<bool> decided(Guard condition);
// Whether the integer stands for an expression of the current scope.
bool is_symbolic(std::int64_t integer);
Index index_of_integer(std::int64_t integer);
// The integer, or what it is in the example, which is then noted.
std::int64_t concrete_integer(std::int64_t integer);
// The same for each element; the reference lives as long as the scope or the argument.
const Integers& concrete_integers(const Integers& integers);

}  // namespace egret::ir
