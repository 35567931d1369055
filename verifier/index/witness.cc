// SPDX-License-Identifier: Apache-2.0
#include "verifier/index/witness.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

namespace egret::verifier {
namespace {

constexpr int kSteps = 40;
constexpr std::size_t kKept = 12;
constexpr std::int64_t kLargest = 6;  // numbers are drawn up to here
constexpr std::int64_t kFarthest = std::int64_t{1} << 40;

bool is_free(AtomKind kind) {
  return kind == AtomKind::kSymbol || kind == AtomKind::kVariable || kind == AtomKind::kElement;
}

}  // namespace

// Free atoms have a number; all others are computed. nullopt for a division by a number that is not
// positive.
std::optional<std::int64_t> WitnessSearch::value(AtomId id, Numbers& numbers) const {
  const Atom& atom = atoms_[id];
  if (is_free(atom.kind)) return numbers[id.index()];
  const auto a = value(atom.a, numbers);
  const auto b = value(atom.b, numbers);
  if (!a || !b) return std::nullopt;
  if (atom.kind == AtomKind::kMinimum) return std::min(*a, *b);
  if (atom.kind == AtomKind::kMaximum) return std::max(*a, *b);
  if (*b <= 0) return std::nullopt;
  return *a / *b - (*a % *b < 0 ? 1 : 0);
}

std::optional<std::int64_t> WitnessSearch::value(const Polynomial& polynomial,
                                                 Numbers& numbers) const {
  std::int64_t sum = 0;
  for (const auto& [monomial, coefficient] : polynomial.terms()) {
    std::int64_t term = coefficient;
    for (const AtomId atom : monomial) {
      const auto factor = value(atom, numbers);
      if (!factor || __builtin_mul_overflow(term, *factor, &term)) return std::nullopt;
    }
    if (__builtin_add_overflow(sum, term, &sum)) return std::nullopt;
  }
  return sum;
}

bool WitnessSearch::holds(const Literal& fact, Numbers& numbers) const {
  const auto number = value(fact.polynomial, numbers);
  if (!number) return false;
  switch (fact.relation) {
    case Literal::Relation::kNonNegative: return *number >= 0;
    case Literal::Relation::kZero: return *number == 0;
    case Literal::Relation::kNonZero: return *number != 0;
  }
  return false;
}

// Sizes start at the example, all other atoms at random between 0 and 2.
std::int64_t WitnessSearch::start_of(AtomId id) {
  const Atom& atom = atoms_[id];
  if (atom.kind == AtomKind::kSymbol) {
    if (const auto found = example_.find(atom.name); found != example_.end()) return found->second;
  }
  return random_.between(0, 2);
}

// Assigns a number to each free atom without one.
void WitnessSearch::complete(const std::vector<AtomId>& free, Numbers& numbers) {
  numbers.resize(atoms_.size());
  for (const AtomId atom : free) {
    if (!numbers[atom.index()]) numbers[atom.index()] = start_of(atom);
  }
}

// A number near `number`, a place in `numbers`, for which the fact holds if it is linear in it. The
// slope is measured by one finite difference. A fact that does not depend on the number gets a
// random one.
std::int64_t WitnessSearch::repaired(const Literal& fact, std::optional<std::int64_t>& number,
                                     Numbers& numbers) {
  const std::int64_t old = *number;
  const auto here = value(fact.polynomial, numbers);
  number = old + 1;
  const auto next = value(fact.polynomial, numbers);
  number = old;
  const std::int64_t away = random_.between(0, 1);
  if (!here || !next || *here == *next) return random_.between(-1, kLargest);
  const std::int64_t slope = *next - *here;
  if (fact.relation == Literal::Relation::kNonZero) return old + (random_.chance(0.5) ? 1 : -1);
  // Rounded away from the side where the fact fails.
  const std::int64_t distance = (std::abs(*here) + std::abs(slope) - 1) / std::abs(slope);
  const bool up = (*here < 0) == (slope > 0);
  const std::int64_t slack = fact.relation == Literal::Relation::kZero ? 0 : away;
  return std::clamp<std::int64_t>(old + (up ? distance + slack : -distance - slack), -kFarthest,
                                  kFarthest);
}

// The atoms of a violated fact that may be changed. Mostly indices: sizes are bound by the
// hypotheses, which the example satisfies.
std::vector<AtomId> WitnessSearch::movable(const Literal& violated,
                                           const std::vector<AtomId>& free) {
  AtomSet inside;
  atoms_.collect(violated.polynomial, inside);
  std::vector<AtomId> choices;
  std::vector<AtomId> indices;
  for (const AtomId atom : free) {
    if (!inside.contains(atom)) continue;
    choices.push_back(atom);
    if (atoms_[atom].kind != AtomKind::kSymbol) indices.push_back(atom);
  }
  return !indices.empty() && random_.chance(0.85) ? indices : choices;
}

std::ptrdiff_t WitnessSearch::violations(const Facts& facts, Numbers& numbers) const {
  return std::ranges::count_if(facts, [&](const Literal& fact) { return !holds(fact, numbers); });
}

// The local search: at most kSteps changes. With probability 0.8 the change that leaves the fewest
// facts violated, otherwise a random one.
bool WitnessSearch::repair(const Facts& facts, const std::vector<AtomId>& free, Numbers& numbers) {
  for (int step = 0; step < kSteps; ++step) {
    const Literal* violated = nullptr;
    const std::size_t offset = random_.below(facts.size());
    for (std::size_t i = 0; i < facts.size() && violated == nullptr; ++i) {
      const Literal& fact = facts[(i + offset) % facts.size()];
      if (!holds(fact, numbers)) violated = &fact;
    }
    if (violated == nullptr) return true;
    const std::vector<AtomId> choices = movable(*violated, free);
    if (choices.empty()) return false;
    AtomId best = choices[random_.below(choices.size())];
    std::int64_t to = random_.between(-1, kLargest);
    if (random_.chance(0.8)) {
      std::ptrdiff_t fewest = std::ssize(facts) + 1;
      for (const AtomId atom : choices) {
        auto& number = numbers[atom.index()];
        const std::int64_t old = *number;
        const std::int64_t tried = repaired(*violated, number, numbers);
        number = tried;
        const std::ptrdiff_t left = violations(facts, numbers);
        number = old;
        if (left >= fewest) continue;
        fewest = left;
        best = atom;
        to = tried;
      }
    }
    numbers[best.index()] = to;
  }
  return false;
}

// Facts with a solution do not contradict each other, so the solver need not be asked.
bool WitnessSearch::find(const Facts& facts) {
  if (facts.empty()) return true;
  AtomSet inside;
  for (const Literal& fact : facts) atoms_.collect(fact.polynomial, inside);
  std::vector<AtomId> free;
  std::ranges::copy_if(inside, std::back_inserter(free),
                       [&](AtomId atom) { return is_free(atoms_[atom].kind); });
  // First tries the stored solutions, the latest first; a hit becomes the latest.
  for (std::size_t i = found_.size(); i-- > 0;) {
    Numbers numbers = found_[i];
    complete(free, numbers);
    if (std::ranges::all_of(facts, [&](const Literal& f) { return holds(f, numbers); })) {
      found_.push_back(std::move(numbers));
      found_.erase(found_.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
  }
  Numbers numbers = found_.empty() ? Numbers{} : found_.back();
  complete(free, numbers);
  if (!repair(facts, free, numbers)) {
    numbers = {};
    complete(free, numbers);
    if (!repair(facts, free, numbers)) return false;
  }
  if (found_.size() == kKept) found_.erase(found_.begin());
  found_.push_back(std::move(numbers));
  return true;
}

std::optional<std::int64_t> WitnessSearch::found_value(const Polynomial& polynomial) {
  if (found_.empty()) found_.emplace_back();
  AtomSet inside;
  atoms_.collect(polynomial, inside);
  std::vector<AtomId> free;
  std::ranges::copy_if(inside, std::back_inserter(free),
                       [&](AtomId atom) { return is_free(atoms_[atom].kind); });
  complete(free, found_.back());
  return value(polynomial, found_.back());
}

}  // namespace egret::verifier
