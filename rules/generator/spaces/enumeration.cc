// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/spaces/enumeration.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <tuple>

#include "base/random.h"
#include "base/stop.h"
#include "base/system/peak_memory.h"
#include "base/timer.h"

namespace egret::rules::generator {
namespace {

constexpr std::size_t kMostSymmetries = 2;  // stated of one term

Evaluator<Masks>::Start mask_start() {
  return [](std::size_t number, std::size_t elements) {
    return std::vector<Word>(elements, Word{1} << number);
  };
}

std::vector<std::uint8_t> members(Variables set) {
  std::vector<std::uint8_t> list;
  for (std::uint8_t v = 0; v < 64; ++v) {
    if ((set >> v & 1) != 0) list.push_back(v);
  }
  return list;
}

}  // namespace

// A union bound over the pairs counted as equal: 2 d / p for rational functions of degree d
// (Schwartz-Zippel), and 1 / p for the random sums. The degree at most triples with each operator,
// and p > 2^60.
double LevelCount::collision_bound() const {
  const double degree = std::pow(3.0, static_cast<double>(operators));
  return static_cast<double>(equal) * (2.0 * degree + 1.0) * 0x1p-60;
}

Enumeration::Enumeration(TermTable& terms, const EnumerationOptions& options)
    : terms_(terms),
      options_(options),
      values_(make_valuation(terms, options.seed)),
      masks_(terms, 0, Masks(), mask_start()) {
  kept_operators_ =
      options.most_operators >= 2 ? static_cast<std::uint32_t>(options.most_operators - 2) : 0;
  level_begin_.push_back(0);
  add_starts();
  level_begin_.push_back(representatives_.size());
}

// One start tensor of each type stands for all of them.
void Enumeration::add_starts() {
  for (std::size_t i = 0; i < terms_.space().starts.size(); ++i) {
    const TermId term = terms_.start(i);
    if (terms_.starts_of(terms_.type(term)).front() != i) continue;
    const Variables self = Variables{1} << i;
    const std::uint64_t fingerprint =
        base::hash_combine(values_->fingerprint_of_start(term), terms_.type(term));
    by_fingerprint_.emplace(fingerprint, static_cast<std::uint32_t>(representatives_.size()));
    representatives_.push_back({term, kNone, self});
  }
}

base::Status Enumeration::next_level() {
  const std::size_t operators = counts_.size() + 1;
  const base::Stopwatch watch;
  const std::clock_t start = std::clock();
  const base::Progress progress(options_.progress,
                                "enumerate " + std::to_string(operators) + " operators");
  counts_.push_back({.operators = operators});
  if (operators == 1) {
    for (std::size_t choice = 0; choice < terms_.space().choices.size(); ++choice) {
      if (terms_.space().choices[choice].arity == 0) consider(choice, {});
    }
  }
  const base::Status status = build_level(operators, progress);
  level_begin_.push_back(representatives_.size());
  counts_.back().classes = level_begin_[operators + 1] - level_begin_[operators];
  counts_.back().seconds = watch.seconds();
  counts_.back().cpu_seconds =
      static_cast<double>(std::clock() - start) / static_cast<double>(CLOCKS_PER_SEC);
  counts_.back().bytes = base::peak_memory_bytes();
  return status;
}

// The largest operand, from the largest down to where both operands are equally large.
base::Status Enumeration::build_level(std::size_t operators, const base::Progress& progress) {
  // An operator of two operands of `size` operators or fewer has at most 2 * size + 1 of them. A
  // largest operand below this size cannot reach the level.
  const std::size_t smallest = operators / 2;  // 2 * size + 1 >= operators
  const std::size_t all = level_begin_[operators] - level_begin_[smallest];
  std::size_t done = 0;
  for (std::size_t size = operators; size-- > smallest;) {
    for (std::size_t i = level_begin_[size]; i < level_begin_[size + 1]; ++i, ++done) {
      if (base::stop_requested()) return base::ok();
      build_on(i, operators);
      forget();
      constexpr std::size_t kNowAndThen = 64;
      if (done % kNowAndThen == 0 &&
          base::peak_memory_bytes() > static_cast<std::int64_t>(options_.most_bytes))
        return base::limit_hit("enumeration needs more than " +
                               std::to_string(options_.most_bytes >> 20) +
                               " MiB; fewer operators or more --generate-memory");
      if (progress.due()) {
        progress.report(
            {{base::kItems, counts_.back().terms}, {base::kEClasses, representatives_.size()}},
            static_cast<double>(done) / static_cast<double>(all),
            terms_.text(representatives_[i].term));
      }
    }
  }
  return base::ok();
}

void Enumeration::forget() {
  const auto keep = [&](TermId term) {
    return terms_.is_start(term) || terms_.applications(term).size() <= kept_operators_;
  };
  values_->forget(keep);
  masks_.forget([&](TermId term) { return terms_.is_start(term); });
}

// All terms of so many operators whose largest operand is this one.
void Enumeration::build_on(std::size_t index, std::size_t operators) {
  const TermId large = representatives_[index].term;
  const std::size_t size = terms_.applications(large).size();
  for (std::size_t choice = 0; choice < terms_.space().choices.size(); ++choice) {
    const std::size_t arity = terms_.space().choices[choice].arity;
    if (arity == 1 && size + 1 == operators) consider(choice, Operands{large});
    if (arity == 2) pair_up(choice, index, operators);
    if (arity == 3 && size + 1 == operators) {
      // The others are start tensors.
      for (std::size_t a = level_begin_[0]; a < level_begin_[1]; ++a) {
        for_each_naming(representatives_[a].term, terms_.variables(large), [&](TermId second) {
          for (std::size_t b = level_begin_[0]; b < level_begin_[1]; ++b) {
            for_each_naming(representatives_[b].term,
                            terms_.variables(large) | terms_.variables(second), [&](TermId third) {
                              consider(choice, Operands{large, second, third});
                              if (size == 0) return;
                              consider(choice, Operands{second, large, third});
                              consider(choice, Operands{second, third, large});
                            });
          }
        });
      }
    }
  }
}

void Enumeration::pair_up(std::size_t choice, std::size_t index, std::size_t operators) {
  const TermId large = representatives_[index].term;
  const std::vector<TermId> inside = terms_.applications(large);
  const std::size_t size = inside.size();
  const TypeId large_type = terms_.type(large);
  const auto place = [&](TermId small, bool both_orders) {
    const TypeId types[] = {large_type, terms_.type(small)};
    const TypeId turned[] = {types[1], types[0]};
    const bool fits = terms_.type_of(choice, types).has_value();
    if (fits) consider(choice, Operands{large, small});
    if (!both_orders || small == large) return;
    if (fits && terms_.is_symmetric(choice, types[0], types[1])) return;
    if (terms_.type_of(choice, turned)) consider(choice, Operands{small, large});
  };
  if (size + 1 == operators) {
    for (const TermId part : inside) place(part, true);
  }
  if (size + 1 > operators) return;
  const std::size_t other = operators - 1 - size;  // operators of the smaller operand
  if (other > size) return;
  for (std::size_t i = level_begin_[other]; i < level_begin_[other + 1]; ++i) {
    const TermId small = representatives_[i].term;
    const TypeId types[] = {large_type, terms_.type(small)};
    const TypeId turned[] = {types[1], types[0]};
    if (!terms_.type_of(choice, types) && !terms_.type_of(choice, turned)) continue;
    if (other == size && i > index && terms_.is_symmetric(choice, types[0], types[1])) continue;
    for_each_naming(small, terms_.variables(large), [&](TermId named) {
      if (std::ranges::binary_search(inside, named)) return;  // shared: a smaller term
      // Of two operands of equal size each comes first once, by itself.
      place(named, size != other);
    });
  }
}

void Enumeration::for_each_naming(TermId term, Variables used,
                                  const std::function<void(TermId)>& visit) {
  const std::vector<std::uint8_t> variables = members(terms_.variables(term));
  Renaming renaming = Renaming::identity();
  base::SmallVector<TermId, 16> seen;
  // Assigns injectively and type by type. Of the start tensors that are not in use yet, only the
  // first is tried: they are interchangeable, so this breaks the symmetry of their names.
  const auto assign = [&](auto&& self, std::size_t at, Variables taken, Variables known) -> void {
    if (at == variables.size()) {
      const TermId named = terms_.renamed(term, renaming);
      if (std::ranges::find(seen, named) != seen.end()) return;  // its operands were exchanged
      seen.push_back(named);
      visit(named);
      return;
    }
    const std::uint8_t variable = variables[at];
    for (const std::uint8_t target : terms_.starts_of(terms_.type_of_start(variable))) {
      const Variables bit = Variables{1} << target;
      if ((taken & bit) != 0) continue;
      renaming.to[variable] = target;
      self(self, at + 1, taken | bit, known | bit);
      if ((known & bit) == 0) break;  // the next new one; later ones are the same up to names
    }
  };
  assign(assign, 0, 0, used);
}

Variables Enumeration::depends_on(TermId term) {
  if (terms_.is_start(term)) return terms_.variables(term);
  Variables all = 0;
  const Program& program = terms_.program(term, 0);
  if (program.reads_all()) {
    for (const TermId operand : terms_.operands(term)) all |= depends_on(operand);
    return all;
  }
  for (const Word mask : masks_.all_values(term)) all |= mask;
  return all;
}

Variables Enumeration::depends_on(std::size_t choice, const Operands& operands, TypeId type) {
  base::SmallVector<TypeId, 3> types;
  Variables all = 0;
  for (const TermId operand : operands) types.push_back(terms_.type(operand));
  const Program& program = terms_.program(choice, {types.data(), types.size()}, 0);
  if (program.reads_all()) {
    for (const TermId operand : operands) all |= depends_on(operand);
    return all;
  }
  std::array<const Word*, TermTable::kMostOperands> given{};
  for (std::size_t i = 0; i < operands.size(); ++i) given[i] = masks_.values(operands[i]);
  std::vector<Word> masks(terms_.elements(type, 0));
  program.run(masks_.domain(), {given.data(), operands.size()}, masks.data());
  for (const Word mask : masks) all |= mask;
  return all;
}

// A variable is idle if renaming it to another start tensor of its type changes no element, as in x
// - x. Idle variables do not count as dependences, which makes more terms equal.
Variables Enumeration::without_idle(std::size_t choice, const Operands& operands,
                                    Variables depends) {
  const std::span<const TermId> as_is(operands.data(), operands.size());
  const Word fingerprint = values_->fingerprint(choice, as_is);
  for (const std::uint8_t variable : members(depends)) {
    const auto& alike = terms_.starts_of(terms_.type_of_start(variable));
    if (alike.size() < 2) continue;
    Renaming renaming = Renaming::identity();
    renaming.to[variable] = alike[0] == variable ? alike[1] : alike[0];
    Operands renamed;
    for (const TermId operand : operands) renamed.push_back(terms_.renamed(operand, renaming));
    const std::span<const TermId> other(renamed.data(), renamed.size());
    // Few elements may agree by chance where a maximum chooses.
    if (values_->fingerprint(choice, other) != fingerprint ||
        !values_->same_elements(choice, as_is, other))
      continue;
    depends &= ~(Variables{1} << variable);
    cancels_ = true;
  }
  return depends;
}

// The ways to name the variables that matter by the first of each type. Those that do not matter
// get the rest.
std::vector<Renaming> Enumeration::names_of(Variables depends, Variables all) {
  std::vector<Renaming> names{Renaming::identity()};
  Variables done = 0;
  for (const std::uint8_t variable : members(all)) {
    if ((done >> variable & 1) != 0) continue;
    const auto& starts = terms_.starts_of(terms_.type_of_start(variable));
    Variables of_type = 0;
    for (const std::uint8_t start : starts) of_type |= Variables{1} << start;
    done |= of_type;
    std::vector<std::uint8_t> order = members(depends & of_type);
    const std::vector<std::uint8_t> rest = members(all & of_type & ~depends);
    std::vector<Renaming> longer;
    do {
      for (Renaming renaming : names) {
        std::size_t next = 0;
        for (const std::uint8_t v : order) renaming.to[v] = starts[next++];
        for (const std::uint8_t v : rest) renaming.to[v] = starts[next++];
        longer.push_back(renaming);
      }
    } while (std::ranges::next_permutation(order).found);
    names = std::move(longer);
  }
  return names;
}

// The canonical names are those with the least fingerprint. Terms that differ only by names then
// have the same key. Several names can have the least fingerprint if the value is symmetric in
// them.
Enumeration::Orbit Enumeration::orbit(std::size_t choice, const Operands& operands,
                                      Variables depends, TypeId type) {
  Variables all = 0;
  for (const TermId operand : operands) all |= terms_.variables(operand);
  Orbit result{~std::uint64_t{0}, {}};
  for (const Renaming& names : names_of(depends, all)) {
    Operands named;
    for (const TermId operand : operands) named.push_back(terms_.renamed(operand, names));
    const std::uint64_t fingerprint =
        base::hash_combine(values_->fingerprint(choice, {named.data(), named.size()}), type);
    if (fingerprint > result.fingerprint) continue;
    if (fingerprint < result.fingerprint) result.names.clear();
    result.fingerprint = fingerprint;
    result.names.push_back(names);
  }
  return result;
}

Enumeration::Named Enumeration::named(std::size_t choice, const Operands& operands,
                                      const std::vector<Renaming>& names) {
  const TermId term = *terms_.apply(choice, {operands.data(), operands.size()});
  Named best{kNoTerm, ~Word{0}};
  for (const Renaming& renaming : names) {
    const TermId renamed = terms_.renamed(term, renaming);
    if (renamed == best.term) continue;
    const Word first = values_->first(renamed);
    if (std::tie(first, renamed) < std::tie(best.first, best.term)) best = {renamed, first};
  }
  return best;
}

void Enumeration::settle(Representative& known) {
  if (known.named != kNoTerm) return;
  if (terms_.is_start(known.term)) {
    known.named = known.term;
    known.first = values_->first(known.term);
    return;
  }
  const std::size_t choice = terms_.choice(known.term);
  const auto parts = terms_.operands(known.term);
  const Operands operands(parts.begin(), parts.end());
  const Orbit orbit = this->orbit(choice, operands, known.depends, terms_.type(known.term));
  const Named found = named(choice, operands, orbit.names);
  known.named = found.term;
  known.first = found.first;
}

Word Enumeration::everywhere(Representative& known) {
  if (!known.has_everywhere) known.everywhere = values_->everywhere(known.named);
  known.has_everywhere = true;
  return known.everywhere;
}

// Adds the term to a class, or makes it the first of a new one.
void Enumeration::consider(std::size_t choice, const Operands& operands) {
  base::SmallVector<TypeId, 3> types;
  for (const TermId operand : operands) types.push_back(terms_.type(operand));
  const std::optional<TypeId> type = terms_.type_of(choice, {types.data(), types.size()});
  if (!type) return;
  LevelCount& count = counts_.back();
  ++count.terms;
  Variables depends = depends_on(choice, operands, *type);
  // Looked at where it is cheap, and later where it has been seen.
  constexpr std::size_t kAlways = 2;
  if (count.operators <= kAlways || cancels_) depends = without_idle(choice, operands, depends);
  const Orbit here = orbit(choice, operands, depends, *type);
  if (values_->take_undefined()) return;
  const auto [slot, is_new] = by_fingerprint_.emplace(
      here.fingerprint, static_cast<std::uint32_t>(representatives_.size()));
  if (!is_new) {
    const Named term = named(choice, operands, here.names);
    std::uint32_t at = slot->second;
    // Walks the chain of representatives with this fingerprint. The elements in the first world
    // separate most collisions cheaply, and the elements in all worlds decide.
    while (true) {
      Representative& known = representatives_[at];
      settle(known);
      if (known.named == term.term) return;
      if (known.first != term.first) {
        ++count.collisions;
      } else if (everywhere(known) != values_->everywhere(term.term)) {
        ++count.accidents;
      } else {
        ++count.equal;
        equalities_.push_back({term.term, known.named});
        return;
      }
      if (known.next == kNone) break;
      at = known.next;
    }
    representatives_[at].next = static_cast<std::uint32_t>(representatives_.size());
  }
  const TermId term = *terms_.apply(choice, {operands.data(), operands.size()});
  representatives_.push_back({term, kNone, depends});
  // Names that the value does not depend on the order of: a law of one term.
  for (std::size_t i = 1; i < here.names.size() && i < kMostSymmetries; ++i) {
    const TermId a = terms_.renamed(term, here.names[0]);
    const TermId b = terms_.renamed(term, here.names[i]);
    if (a != b && values_->everywhere(a) == values_->everywhere(b)) equalities_.push_back({a, b});
  }
}

}  // namespace egret::rules::generator
