// SPDX-License-Identifier: Apache-2.0
// Values of terms in one world and one domain, each computed once and kept until it is forgotten.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "rules/generator/spaces/term_table.h"

namespace egret::rules::generator {

template <typename Domain>
class Evaluator {
 public:
  // `start(number, elements)` gives a start tensor's values.
  using Start = std::function<std::vector<Word>(std::size_t number, std::size_t elements)>;

  Evaluator(TermTable& terms, World world, Domain domain, Start start)
      : terms_(terms), world_(world), domain_(std::move(domain)), start_(std::move(start)) {}

  // All elements of a term, row-major. Valid until forgotten.
  const Word* values(TermId term) {
    if (term < values_.size() && values_[term] != nullptr) return values_[term].get();
    std::array<const Word*, TermTable::kMostOperands> given{};
    std::size_t count = 0;
    for (const TermId operand : terms_.operands(term)) given[count++] = values(operand);
    std::unique_ptr<Word[]> made(new Word[terms_.elements(terms_.type(term), world_)]);
    if (terms_.is_start(term)) {
      const std::size_t number = terms_.start_number(term);
      const std::vector<Word> all = start_(number, terms_.elements(terms_.type(term), world_));
      std::ranges::copy(all, made.get());
    } else {
      terms_.program(term, world_).run(domain_, {given.data(), count}, made.get());
    }
    if (values_.size() <= term) values_.resize(terms_.size());
    values_[term] = std::move(made);
    words_ += terms_.elements(terms_.type(term), world_);
    temporary_.push_back(term);
    return values_[term].get();
  }

  std::span<const Word> all_values(TermId term) {
    return {values(term), terms_.elements(terms_.type(term), world_)};
  }

  // The sample positions of choice(operands), without making the term. `out` has room for
  // Program::kMostSamples; returns how many.
  std::size_t samples(std::size_t choice, std::span<const TermId> operands, Word* out) {
    std::array<const Word*, TermTable::kMostOperands> given{};
    std::array<TypeId, TermTable::kMostOperands> types{};
    for (std::size_t i = 0; i < operands.size(); ++i) {
      given[i] = values(operands[i]);
      types[i] = terms_.type(operands[i]);
    }
    const Program& program = terms_.program(choice, {types.data(), operands.size()}, world_);
    program.run_samples(domain_, {given.data(), operands.size()}, out);
    return program.sample_count();
  }

  // Forgets what was computed since the last call and is not worth keeping.
  void forget(const std::function<bool(TermId)>& keep) {
    for (const TermId term : temporary_) {
      if (keep(term) || values_[term] == nullptr) continue;
      values_[term].reset();
      words_ -= terms_.elements(terms_.type(term), world_);
    }
    temporary_.clear();
  }

  Domain& domain() { return domain_; }
  std::size_t bytes() const { return words_ * sizeof(Word) + values_.capacity() * sizeof(void*); }

 private:
  TermTable& terms_;
  World world_;
  Domain domain_;
  Start start_;
  std::vector<std::unique_ptr<Word[]>> values_;  // by term
  std::vector<TermId> temporary_;
  std::size_t words_ = 0;
};

}  // namespace egret::rules::generator
