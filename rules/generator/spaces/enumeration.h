// SPDX-License-Identifier: Apache-2.0
// All terms of a space with up to so many operators, up to renaming of start tensors and modulo
// what is found equal on the way: only the first term of each class of equal ones is used to build
// larger terms.
//
// Terms are told apart by a fingerprint: the values of their elements at a few positions
// (rules/generator/spaces/valuation.h); the least over all ways to name their variables, so that
// terms that differ in names meet. Terms with one fingerprint are compared with *every*
// representative that has it: all elements of the first world, then of all worlds.
// LevelCount::collision_bound() says how likely a mistake is.
//
// A term with operators a, b, ... counts each once, as a graph does. Its largest operand is
// enumerated first and named in order of occurrence; the others get names from those and the next
// new ones. Sharing below two operands is found where one contains the other.
//
// Deterministic for a seed.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/progress.h"
#include "rules/generator/spaces/evaluator.h"
#include "rules/generator/spaces/term_table.h"
#include "rules/generator/spaces/valuation.h"

namespace egret::rules::generator {

struct EnumerationOptions {
  std::size_t most_operators = 3;
  std::uint64_t seed = 1;
  std::size_t most_bytes = std::size_t{8} << 30;  // of the process
  base::ProgressSink* progress = nullptr;
};

// Terms over the same start tensors with equal values. `right` has no more operators than `left`.
struct Equality {
  TermId left;
  TermId right;
};

struct LevelCount {
  std::size_t operators = 0;
  std::uint64_t terms = 0;       // enumerated, up to names
  std::uint64_t classes = 0;     // new representatives
  std::uint64_t equal = 0;       // terms equal to a representative
  std::uint64_t accidents = 0;   // of equal elements in the first world, not in another
  std::uint64_t collisions = 0;  // of equal fingerprint, not of equal elements in the first world
  double seconds = 0;
  double cpu_seconds = 0;  // of the process
  std::int64_t bytes = 0;  // of the process, at most so far

  // The probability that some pair counted as equal is not, in the worlds that were looked at, is
  // at most this. Two rational functions of degree d that differ agree at a random point with
  // probability at most 2 d / p (Schwartz 1980, Zippel 1979), p > 2^60; d <= 3^operators, as no
  // choice has more than three operands; random sums of values that differ agree with probability
  // 1 / p; only the values over the random prime count. Says nothing of spaces by value.
  double collision_bound() const;
};

class Enumeration {
 public:
  Enumeration(TermTable& terms, const EnumerationOptions& options);

  // The terms with one operator more. Stops early, with all that was found so far, on
  // base::stop_requested(), and with limit_hit when memory runs out.
  base::Status next_level();
  std::size_t levels() const { return counts_.size(); }

  const std::vector<LevelCount>& counts() const { return counts_; }
  const std::vector<Equality>& equalities() const { return equalities_; }
  TermTable& terms() { return terms_; }

 private:
  struct Representative {
    TermId term;
    std::uint32_t next;  // with the same fingerprint
    Variables depends;   // variables that its value depends on
    // Once another term had its fingerprint: itself under the names that are compared, the word for
    // its elements in the first world; and when that agreed too, for those in all worlds.
    TermId named = kNoTerm;
    bool has_everywhere = false;
    Word first = 0;
    Word everywhere = 0;
  };
  static constexpr std::uint32_t kNone = 0xffffffffU;
  using Operands = base::SmallVector<TermId, 3>;

  void add_starts();
  base::Status build_level(std::size_t operators, const base::Progress& progress);
  void build_on(std::size_t index, std::size_t operators);
  void pair_up(std::size_t choice, std::size_t index, std::size_t operators);
  // Calls visit(renaming) for each way to name the variables of `term` beside those in use.
  void for_each_naming(TermId term, Variables used, const std::function<void(TermId)>& visit);
  void consider(std::size_t choice, const Operands& operands);
  Variables depends_on(std::size_t choice, const Operands& operands, TypeId type);
  Variables depends_on(TermId term);
  // Without those that cancel: x - x does not depend on x.
  Variables without_idle(std::size_t choice, const Operands& operands, Variables depends);

  // The least fingerprint over all names, and the names that give it.
  struct Orbit {
    std::uint64_t fingerprint;
    std::vector<Renaming> names;
  };
  Orbit orbit(std::size_t choice, const Operands& operands, Variables depends, TypeId type);
  std::vector<Renaming> names_of(Variables depends, Variables all);
  // Of these names those under which the word for the elements is least.
  struct Named {
    TermId term;
    Word first;
  };
  Named named(std::size_t choice, const Operands& operands, const std::vector<Renaming>& names);
  void settle(Representative& known);
  Word everywhere(Representative& known);
  void forget();

  TermTable& terms_;
  EnumerationOptions options_;
  std::unique_ptr<Valuation> values_;
  Evaluator<Masks> masks_;
  std::vector<Representative> representatives_;
  std::vector<std::size_t> level_begin_;  // of representatives_, by operators
  boost::unordered_flat_map<std::uint64_t, std::uint32_t> by_fingerprint_;
  std::vector<Equality> equalities_;
  std::vector<LevelCount> counts_;
  bool cancels_ = false;              // some term of the space does not depend on what it reads
  std::uint32_t kept_operators_ = 0;  // values of terms up to so many operators are kept
};

}  // namespace egret::rules::generator
