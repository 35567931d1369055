// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/candidate.h"

#include <algorithm>
#include <bit>

namespace egret::rules::generator {
namespace {

template <typename SizeOfChoice>
std::size_t tree_sum(const TermTable& terms, TermId term, const SizeOfChoice& size_of) {
  if (terms.is_start(term)) return 0;
  std::size_t sum = size_of(terms.choice(term));
  for (const TermId operand : terms.operands(term)) sum += tree_sum(terms, operand, size_of);
  return sum;
}

// Applications as written out, shared ones each time.
std::size_t tree_size(const TermTable& terms, TermId term) {
  return tree_sum(terms, term, [](std::size_t) { return std::size_t{1}; });
}

// Operators of the same: an application may be several.
std::size_t written_size(const TermTable& terms, TermId term) {
  return tree_sum(terms, term,
                  [&](std::size_t choice) { return terms.space().choices[choice].steps.size(); });
}

bool has_constant(const TermTable& terms, TermId term) {
  return std::ranges::any_of(terms.applications(term),
                             [&](TermId part) { return terms.operands(part).empty(); });
}

template <typename NameOfChoice>
std::string outline(const TermTable& terms, const Equality& equality, const NameOfChoice& name) {
  const auto side = [&](auto&& self, TermId term) -> std::string {
    if (terms.is_start(term)) return "_";
    std::string text = name(terms.choice(term)) + "(";
    for (const TermId operand : terms.operands(term)) text += self(self, operand);
    return text + ")";
  };
  return side(side, equality.left) + side(side, equality.right);
}

}  // namespace

Candidate candidate_of(const TermTable& terms, const Equality& equality) {
  const std::size_t left = tree_size(terms, equality.left);
  const std::size_t right = tree_size(terms, equality.right);
  return {equality,
          std::max(left, right),
          left + right,
          written_size(terms, equality.left) + written_size(terms, equality.right),
          std::popcount(terms.variables(equality.left)),
          has_constant(terms, equality.left) || has_constant(terms, equality.right)};
}

bool comes_first(const Candidate& a, const Candidate& b) {
  if (a.has_constant != b.has_constant) return b.has_constant;
  if (a.operators != b.operators) return a.operators < b.operators;
  if (a.total != b.total) return a.total < b.total;
  if (a.written != b.written) return a.written < b.written;
  return a.variables > b.variables;
}

std::vector<Equality> equalities(std::span<const Candidate> candidates) {
  std::vector<Equality> all;
  for (const Candidate& candidate : candidates) all.push_back(candidate.equality);
  return all;
}

std::string text_of(const TermTable& terms, const Equality& equality) {
  return terms.text(equality.left) + " = " + terms.text(equality.right);
}

std::string shape_of(const TermTable& terms, const Equality& equality) {
  return outline(terms, equality, [](std::size_t choice) { return std::to_string(choice); });
}

std::string operators_of(const TermTable& terms, const Equality& equality) {
  return outline(terms, equality, [&](std::size_t choice) {
    std::string names;
    for (const Step& step : terms.space().choices[choice].steps) names += step.op->name() + " ";
    return names;
  });
}

}  // namespace egret::rules::generator
