// SPDX-License-Identifier: Apache-2.0
// An equality of two terms that may become a rule: in which order candidates are decided, and what
// candidates have in common.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "rules/generator/spaces/enumeration.h"
#include "rules/generator/spaces/term_table.h"

namespace egret::rules::generator {

struct Candidate {
  Equality equality;
  std::size_t operators;  // of the larger side
  std::size_t total;      // of both sides
  std::size_t written;    // in the rule: an instance of an operator may be several
  int variables;
  bool has_constant;  // a tensor that is no variable
};

Candidate candidate_of(const TermTable& terms, const Equality& equality);

// Small and general ones first: they derive the others. Of those about particular tensors, which
// hold for particular attributes, the general ones would follow in the terms at hand alone.
bool comes_first(const Candidate& a, const Candidate& b);

std::vector<Equality> equalities(std::span<const Candidate> candidates);

std::string text_of(const TermTable& terms, const Equality& equality);
// Without the names of tensors; with attributes, and without them.
std::string shape_of(const TermTable& terms, const Equality& equality);
std::string operators_of(const TermTable& terms, const Equality& equality);

}  // namespace egret::rules::generator
