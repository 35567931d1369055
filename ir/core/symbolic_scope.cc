// SPDX-License-Identifier: Apache-2.0
#include "ir/core/symbolic_scope.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "ir/core/held_assumptions.h"
#include "ir/core/suspended_scope.h"

namespace egret::ir {
namespace {

thread_local SymbolicScope* innermost = nullptr;
thread_local HeldAssumptions* holding = nullptr;

// Symbolic integers count from here: far from any size, and from the bounds that exporters write
// for "to the end".
constexpr std::int64_t kFirst = std::int64_t{0x4e67} << 48;
constexpr std::int64_t kEnd = kFirst + (std::int64_t{1} << 40);

}  // namespace

Guard Decision::guard() const {
  if (is_value) return Index(on) == Index(outcome);
  return outcome != 0 ? Guard(on) : !Guard(on);
}

// Scopes of a thread nest, and the innermost one answers.
SymbolicScope::SymbolicScope() : outer_(std::exchange(innermost, this)) {}
SymbolicScope::SymbolicScope(SymbolValues examples, Holds holds, Assume assume)
    : outer_(std::exchange(innermost, this)),
      holds_(std::move(holds)),
      assume_(std::move(assume)),
      examples_(std::move(examples)) {}
SymbolicScope::~SymbolicScope() { innermost = outer_; }
SuspendedScope::SuspendedScope() : scope_(std::exchange(innermost, nullptr)) {}
SuspendedScope::~SuspendedScope() { innermost = scope_; }

SymbolicScope* SymbolicScope::current() { return innermost; }

bool SymbolicScope::assume(Guard guard) {
  const std::optional<bool> known = holds_ ? holds_(guard) : std::nullopt;
  if (known || !assume_) return known.value_or(false);
  if (holding != nullptr) return holding->hold(guard);
  assume_(guard);
  return true;
}

HeldAssumptions::HeldAssumptions(May may) : outer_(std::exchange(holding, this)), may_(may) {}
HeldAssumptions::~HeldAssumptions() { holding = outer_; }

bool HeldAssumptions::hold(Guard guard) {
  if (may_ == May::kNothing) return false;
  held_.push_back(guard);
  return true;
}

bool HeldAssumptions::keep() {
  holding = outer_;
  const bool kept = std::ranges::all_of(
      held_, [](Guard guard) { return innermost != nullptr && innermost->assume(guard); });
  held_.clear();
  return kept;
}

Index SymbolicScope::symbol(std::string_view name, std::int64_t example) {
  const bool is_new = examples_.emplace(name, example).second;
  EGRET_CHECK(is_new, "a symbol is made once");
  return symbolic_dim(name);
}

void SymbolicScope::set_example(std::string_view name, std::int64_t example) {
  const auto found = examples_.find(name);
  EGRET_CHECK(found != examples_.end(), "a symbol of this scope");
  found->second = example;
}

// Encodes an expression as an integer that attributes can hold. index_of_integer() decodes it.
std::int64_t SymbolicScope::integer_of(Index value) {
  if (value.is_constant()) {
    // A number that would be read as an expression: as if it were not known.
    undecided_ = undecided_ || (value.constant() >= kFirst && value.constant() < kEnd);
    return value.constant();
  }
  const auto [found, is_new] =
      integers_.emplace(value.node(), kFirst + static_cast<std::int64_t>(expressions_.size()));
  if (is_new) expressions_.push_back(value.node());
  return found->second;
}

std::int64_t SymbolicScope::example(Index value) const {
  const auto result = evaluate(value, examples_);
  EGRET_CHECK(result.has_value(), "an expression over the symbols of the scope");
  return *result;
}

bool SymbolicScope::example(Guard guard) const {
  const auto result = evaluate(guard, examples_);
  EGRET_CHECK(result.has_value(), "a guard over the symbols of the scope");
  return *result;
}

// The example values decide the guard. The comparisons behind the decision become conditions, under
// which the result holds for other values as well.
bool SymbolicScope::decide(Guard guard) {
  if (guard.is_constant()) return guard.is_true();
  if (holds_) {
    const auto known = holds_(guard);
    undecided_ = undecided_ || !known;
    return known ? *known : example(guard);
  }
  const bool truth = example(guard);
  note_path(*guard.node(), truth);
  note(*guard.node(), truth);
  return truth;
}

// Records comparisons in the order of a lazy evaluation, each with its outcome.
void SymbolicScope::note_path(const ExprNode& node, bool truth) {
  switch (node.op) {
    case ExprOp::kGuardConst: return;
    case ExprOp::kNot: note_path(*node.kids[0], !truth); return;
    case ExprOp::kAnd:
    case ExprOp::kOr: {
      const bool first = example(Guard(node.kids[0]));
      note_path(*node.kids[0], first);
      if (first == (node.op == ExprOp::kAnd)) note_path(*node.kids[1], truth);
      return;
    }
    default:
      if (on_path_.insert(&node).second) decisions_.push_back({&node, false, truth ? 1 : 0});
  }
}

// Records comparisons only. A conjunction that holds needs both parts; of a disjunction the first
// part that holds suffices. Recursion depth is that of one condition.
void SymbolicScope::note(const ExprNode& node, bool truth) {
  const auto kid = [&](std::size_t i) { return Guard(node.kids[i]); };
  switch (node.op) {
    case ExprOp::kGuardConst: return;
    case ExprOp::kNot: note(*node.kids[0], !truth); return;
    case ExprOp::kAnd:
    case ExprOp::kOr: {
      if ((node.op == ExprOp::kAnd) == truth) {
        note(*node.kids[0], truth);
        note(*node.kids[1], truth);
      } else {
        note(*node.kids[example(kid(0)) == truth ? 0 : 1], truth);
      }
      return;
    }
    default:
      if (decided_.insert(&node).second)
        conditions_.push_back(truth ? Guard(&node) : !Guard(&node));
  }
}

// A place that needs a number gets the example's. The result is then valid only where the
// expression has this value, which becomes a condition.
std::int64_t SymbolicScope::concretize(Index value) {
  const std::int64_t known = example(value);
  if (value.is_constant()) return known;
  if (holds_) {
    undecided_ = true;
    return known;
  }
  if (on_path_.insert(value.node()).second) decisions_.push_back({value.node(), true, known});
  const Guard equal = value == Index(known);
  if (!equal.is_constant()) note(*equal.node(), true);
  return known;
}

// The answer of the innermost scope. There is none outside of scopes, or for symbols of no scope.
std::optional<bool> decided(Guard condition) {
  if (condition.is_constant()) return condition.is_true();
  if (innermost == nullptr || !evaluate(condition, innermost->examples())) return std::nullopt;
  if (innermost->holds_) return innermost->holds_(condition);
  return innermost->decide(condition);
}

std::optional<std::int64_t> open_integer(Index size) {
  if (size.is_constant()) return size.constant();
  if (innermost == nullptr || !innermost->holds_) return std::nullopt;
  return innermost->integer_of(size);
}

bool is_symbolic(std::int64_t integer) {
  return innermost != nullptr && integer >= kFirst &&
         integer - kFirst < static_cast<std::int64_t>(innermost->expressions_.size());
}

Index index_of_integer(std::int64_t integer) {
  if (!is_symbolic(integer)) return integer;
  return Index(innermost->expressions_[static_cast<std::size_t>(integer - kFirst)]);
}

std::int64_t concrete_integer(std::int64_t integer) {
  return is_symbolic(integer) ? innermost->concretize(index_of_integer(integer)) : integer;
}

Index concrete_index(Index value) {
  const bool known = innermost != nullptr && !value.is_constant() &&
                     evaluate(value, innermost->examples()).has_value();
  return known ? Index(innermost->concretize(value)) : value;
}

// The scope owns the list that is made, so the reference lives as long as the scope.
const Integers& concrete_integers(const Integers& integers) {
  if (innermost == nullptr || std::ranges::none_of(integers, is_symbolic)) return integers;
  Integers& concrete = innermost->concrete_.emplace_back();
  for (const std::int64_t integer : integers) concrete.push_back(concrete_integer(integer));
  return concrete;
}

// Outside of the rank every value is the same error, so no particular value becomes a condition.
std::int64_t concrete_axis(std::int64_t integer, std::int64_t rank) {
  if (!is_symbolic(integer)) return integer;
  const Index given = index_of_integer(integer);
  const bool in_rank = innermost->decide(within(0, given, rank));
  return in_rank ? innermost->concretize(given) : innermost->example(given);
}

const Integers& concrete_axes(const Integers& integers, std::int64_t rank) {
  if (innermost == nullptr || std::ranges::none_of(integers, is_symbolic)) return integers;
  Integers& concrete = innermost->concrete_.emplace_back();
  for (const std::int64_t integer : integers) concrete.push_back(concrete_axis(integer, rank));
  return concrete;
}

}  // namespace egret::ir
