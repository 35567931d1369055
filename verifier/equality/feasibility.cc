// SPDX-License-Identifier: Apache-2.0
#include "verifier/equality/feasibility.h"

#include <limits>

#include "verifier/algebra/element_value.h"
#include "verifier/index/canonical_order.h"
#include "verifier/index/equations.h"
#include "verifier/index/guard_query.h"

namespace egret::verifier {
namespace {

constexpr std::int64_t kSmall = 12;  // numbers are first looked for this far from the smallest
constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();

bool hold(std::span<const ir::Guard> guards, const ir::SymbolValues& least,
          const ir::SymbolValues& numbers) {
  for (const auto& [name, number] : least) {
    if (numbers.at(name) < number) return false;
  }
  return ir::GuardProgram(guards).holds(numbers);
}

// The facts with each minimum and maximum replaced by the argument that the facts show it to be.
// Products with extrema then become products of sizes, which are compared by structure. Empty if
// nothing is known.
Facts with_known_extrema(AtomTable& atoms, IndexSolver& solver, const Facts& facts) {
  AtomSet seen;
  for (const Literal& fact : facts) atoms.collect(fact.polynomial, seen);
  AtomTable::Substitution by;
  for (const AtomId id : seen) {
    const Atom atom = atoms[id];
    const bool minimum = atom.kind == AtomKind::kMinimum;
    if (!minimum && atom.kind != AtomKind::kMaximum) continue;
    const Polynomial a = atoms.substitute(atom.a, by);
    const Polynomial b = atoms.substitute(atom.b, by);
    if (solver.implies(facts, less_equal(a, b))) {
      by[id] = minimum ? a : b;
    } else if (solver.implies(facts, less_equal(b, a))) {
      by[id] = minimum ? b : a;
    }
  }
  Facts result;
  for (const Literal& fact : facts) {
    if (!by.empty()) result.push_back({atoms.substitute(fact.polynomial, by), fact.relation});
  }
  return result;
}

}  // namespace

Feasibility::Result Feasibility::find(std::span<const ir::Guard> guards,
                                      const ir::SymbolValues& least, const ir::SymbolValues& near) {
  if (auto quick = by_facts(guards, least, near)) return *std::move(quick);
  Result small = ask(guards, least, kSmall);
  if (small.outcome == Outcome::kNumbers) return small;
  return ask(guards, least, kAny);
}

bool Feasibility::excludes(std::span<const ir::Guard> guards, const ir::SymbolValues& least,
                           const ir::SymbolValues& near) {
  if (const auto quick = by_facts(guards, least, near)) return quick->outcome == Outcome::kNone;
  return ask(guards, least, kAny).outcome == Outcome::kNone;
}

// A guard with alternatives would need a case split. It is left out, which only weakens the facts.
std::optional<Feasibility::Result> Feasibility::by_facts(std::span<const ir::Guard> guards,
                                                         const ir::SymbolValues& least,
                                                         const ir::SymbolValues& near) {
  Facts facts;
  try {
    for (const auto& [name, number] : least)
      facts.push_back(at_least_zero(Polynomial(atoms_.symbol(name)) - Polynomial(number)));
    // Atoms are ordered by age, and the search for numbers depends on their order.
    for (const ir::ExprNode* composite : CanonicalOrder().composites(guards))
      ElementValues::polynomial(atoms_, ir::Index(composite));
    for (const ir::Guard& guard : guards) {
      const std::vector<Facts> cases = ElementValues::cases(atoms_, guard);
      if (cases.empty()) return Result{Outcome::kNone};
      if (cases.size() == 1) facts.insert(facts.end(), cases[0].begin(), cases[0].end());
    }
    // Equal sizes become one symbol, so most questions are decided by structure.
    const Solved solved = solve_equations(atoms_, std::move(facts));
    WitnessSearch witnesses(atoms_, near);
    if (witnesses.find(solved.facts)) {
      Result result{Outcome::kNumbers, least};
      for (auto& [name, number] : result.numbers) {
        const auto found = witnesses.found_value(
            atoms_.substitute(Polynomial(atoms_.symbol(name)), solved.solution));
        if (!found) return std::nullopt;
        number = *found;
      }
      if (hold(guards, least, result.numbers)) return result;
    }
    IndexSolver solver(atoms_, session_, {.rlimit = options_.rlimit});
    if (solver.contradictory(solved.facts) ||
        solver.contradictory(with_known_extrema(atoms_, solver, solved.facts)))
      return Result{Outcome::kNone};
  } catch (const NotExpressible&) {
  } catch (const PolynomialOverflow&) {
  }
  return std::nullopt;
}

Feasibility::Result Feasibility::ask(std::span<const ir::Guard> guards,
                                     const ir::SymbolValues& least, std::int64_t range) {
  ++asked_;
  GuardQuery query;
  for (const auto& [name, number] : least) {
    query.at_least(name, number);
    if (range != kAny) query.at_most(name, number + range);
  }
  for (const ir::Guard& guard : guards) {
    if (!query.add(guard)) return {};
  }
  const SolverSession::Finding found = session_.find(query.query(), options_.rlimit, range == kAny);
  if (found.answer == Answer::kUnsatisfiable)
    return {range == kAny ? Outcome::kNone : Outcome::kUnknown};
  if (found.answer != Answer::kSatisfiable) return {};
  Result result{Outcome::kNumbers, least};  // a symbol that does not matter has its smallest value
  for (auto& [name, number] : result.numbers) {
    if (const auto value = found.numbers.find(name); value != found.numbers.end())
      number = value->second;
  }
  return hold(guards, least, result.numbers) ? result : Result{};
}

}  // namespace egret::verifier
