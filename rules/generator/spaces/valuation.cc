// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/spaces/valuation.h"

#include <algorithm>

#include "base/random.h"
#include "rules/generator/spaces/evaluator.h"

namespace egret::rules::generator {
namespace {

using Elements = std::span<const Word>;

Word power_mod(Word base, Word exponent, Word modulus) {
  __extension__ typedef unsigned __int128 Wide;
  Word result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = static_cast<Word>(static_cast<Wide>(result) * base % modulus);
    base = static_cast<Word>(static_cast<Wide>(base) * base % modulus);
  }
  return result;
}

// Miller and Rabin; these bases decide all 64-bit numbers (Sinclair 2011).
bool is_prime(Word n) {
  __extension__ typedef unsigned __int128 Wide;
  Word odd = n - 1;
  int twos = 0;
  for (; odd % 2 == 0; odd /= 2) ++twos;
  for (const Word witness : {2, 325, 9375, 28178, 450775, 9780504, 1795265022}) {
    Word power = power_mod(witness % n, odd, n);
    if (power == 1 || power == n - 1 || witness % n == 0) continue;
    bool composite = true;
    for (int i = 1; i < twos && composite; ++i) {
      power = static_cast<Word>(static_cast<Wide>(power) * power % n);
      composite = power != n - 1;
    }
    if (composite) return false;
  }
  return true;
}

Word random_prime(base::Random random) {
  while (true) {
    const Word candidate = (Word{1} << 60) + random.below(Word{1} << 60) + 1;
    if (candidate % 2 == 1 && is_prime(candidate)) return candidate;
  }
}

// Sums of elements with random coefficients.
class RandomSum {
 public:
  RandomSum(const ir::PrimeField& field, std::uint64_t seed) : field_(field), random_(seed) {}

  Word of(Elements elements) {
    while (coefficients_.size() < elements.size())
      coefficients_.push_back(random_.below(field_.prime()));
    ir::PrimeField::Accumulator sum(field_);
    for (std::size_t i = 0; i < elements.size(); ++i)
      sum.add_product(elements[i], coefficients_[i]);
    return sum.value();
  }

 private:
  ir::PrimeField field_;
  base::Random random_;
  std::vector<Word> coefficients_;
};

// How values of a kind are drawn, told apart and summed up, in one world.
struct ResidueKind {
  using Domain = Residues;
  ResidueKind(std::uint64_t seed, double below_zero, Word prime)
      : domain(prime, Residues::key_for(seed, below_zero, prime)),
        sum(ir::PrimeField(prime), base::mix(seed)) {}

  std::vector<Word> start(const ir::TensorType& type, base::Random& random) const {
    return random_elements(type, domain.field().prime(), random);
  }
  static Word told(Word element) { return element; }
  Word word(Elements elements) { return sum.of(elements); }
  Word joined(Word a, Word b) const { return domain.field().add(a, b); }

  Residues domain;
  RandomSum sum;
};

struct NumberKind {
  using Domain = Numbers;
  std::vector<Word> start(const ir::TensorType& type, base::Random& random) const {
    std::vector<Word> elements(static_cast<std::size_t>(type.elements()));
    for (Word& element : elements) {
      const double size = 0.25 + 2.0 * std::ldexp(static_cast<double>(random.below(1U << 30)), -30);
      element = Numbers::word(random.below(2) == 0 ? size : -size);
    }
    return elements;
  }
  static Word told(Word element) { return Numbers::rounded(element); }
  static Word word(Elements elements) {
    Word hash = 0;
    for (const Word element : elements) hash = base::hash_combine(hash, told(element));
    return hash;
  }
  static Word joined(Word a, Word b) { return base::hash_combine(a, b); }

  Numbers domain;
};

template <typename Kind>
class ValuationOf final : public Valuation {
 public:
  using Values = Evaluator<typename Kind::Domain>;

  // The first kind for the first comparison, the others, one for each world, for the second.
  ValuationOf(TermTable& terms, std::uint64_t seed, Kind first, std::vector<Kind> others)
      : terms_(terms), first_kind_(std::move(first)), other_kinds_(std::move(others)) {
    first_.emplace_back(terms, 0, first_kind_.domain, random_start(first_kind_, 0, seed));
    for (World world = 0; world < terms.space().worlds(); ++world) {
      const Kind& kind = other_kinds_[world];
      others_.emplace_back(terms, world, kind.domain,
                           random_start(kind, world, base::hash_combine(seed, world + 1)));
    }
  }

  Word fingerprint(std::size_t choice, std::span<const TermId> operands) override {
    std::array<Word, Program::kMostSamples> samples{};
    const std::size_t count = values().samples(choice, operands, samples.data());
    return combined(Elements(samples).first(count));
  }
  Word fingerprint_of_start(TermId start) override {
    const Elements all = values().all_values(start);
    std::vector<Word> samples;
    for (const std::size_t at : Program::sample_positions(all.size())) samples.push_back(all[at]);
    return combined(samples);
  }
  bool same_elements(std::size_t choice, std::span<const TermId> a,
                     std::span<const TermId> b) override {
    return std::ranges::equal(elements(choice, a), elements(choice, b), {}, Kind::told, Kind::told);
  }
  Word first(TermId term) override { return first_kind_.word(values().all_values(term)); }
  Word everywhere(TermId term) override {
    Word all = 0;
    for (std::size_t i = 0; i < others_.size(); ++i) {
      Kind& kind = other_kinds_[i];
      all = kind.joined(all, kind.word(others_[i].all_values(term)));
    }
    return all;
  }
  bool take_undefined() override { return values().domain().take_undefined(); }
  void forget(const std::function<bool(TermId)>& keep) override {
    values().forget(keep);
    for (Values& other : others_) other.forget(keep);
  }

 private:
  typename Values::Start random_start(const Kind& kind, World world, std::uint64_t seed) const {
    const base::Random random(seed);
    return [this, &kind, world, random](std::size_t number, std::size_t) {
      base::Random stream = random.split(number);
      return kind.start(terms_.space().starts[number].types[world], stream);
    };
  }
  Values& values() { return first_.front(); }
  static Word combined(Elements samples) {
    Word hash = 0;
    for (const Word sample : samples) hash = base::hash_combine(hash, Kind::told(sample));
    return hash;
  }
  std::vector<Word> elements(std::size_t choice, std::span<const TermId> operands) {
    std::array<const Word*, TermTable::kMostOperands> given{};
    std::array<TypeId, TermTable::kMostOperands> types{};
    for (std::size_t i = 0; i < operands.size(); ++i) {
      given[i] = values().values(operands[i]);
      types[i] = terms_.type(operands[i]);
    }
    const Program& program = terms_.program(choice, {types.data(), operands.size()}, 0);
    std::vector<Word> out(program.elements());
    program.run(values().domain(), {given.data(), operands.size()}, out.data());
    return out;
  }

  TermTable& terms_;
  Kind first_kind_;
  std::vector<Kind> other_kinds_;  // by world
  std::vector<Values> first_;      // one
  std::vector<Values> others_;     // by world
};

}  // namespace

std::unique_ptr<Valuation> make_valuation(TermTable& terms, std::uint64_t seed) {
  const std::size_t worlds = terms.space().worlds();
  if (terms.space().by_value) {
    return std::make_unique<ValuationOf<NumberKind>>(terms, seed, NumberKind(),
                                                     std::vector<NumberKind>(worlds));
  }
  const Word prime = random_prime(base::Random(base::mix(seed ^ 0x7072696d65)));
  std::vector<ResidueKind> others;
  for (World world = 0; world < worlds; ++world)
    others.emplace_back(base::hash_combine(seed, world + 1), 0.75, prime);
  return std::make_unique<ValuationOf<ResidueKind>>(
      terms, seed, ResidueKind(seed, 0.5, Residues::kMersenne), std::move(others));
}

}  // namespace egret::rules::generator
