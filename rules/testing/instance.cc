// SPDX-License-Identifier: Apache-2.0
#include "rules/testing/instance.h"

#include <algorithm>

namespace egret::rules {

std::vector<const Term*> source_applications(const Rule& rule) {
  std::vector<const Term*> all;
  for (const Binding& source : rule.sources) {
    for_each_subterm(source.term, [&](const Term& term) {
      if (term.kind == Term::Kind::kApply) all.push_back(&term);
    });
  }
  return all;
}

int rank_of(const Choice& choice) {
  int rank = 0;
  for (const auto& [slot, type] : choice.variables) rank = std::max(rank, type.rank());
  return rank;
}

bool has_elements(const Instance& instance) {
  return std::ranges::any_of(instance.left.outputs(), [&](const auto& output) {
    return instance.left.node(output.node).type.elements() != 0;
  });
}

}  // namespace egret::rules
