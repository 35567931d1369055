// SPDX-License-Identifier: Apache-2.0
#include "extract/greedy/tree_greedy.h"

#include <utility>

#include "extract/core/cheapest_terms.h"

namespace egret::extract {

base::Result<Solution> extract_tree_greedy(const Problem& problem, const Options&) {
  TreeChoice terms = cheapest_terms(problem);
  EGRET_RETURN_IF_ERROR(check_roots(problem, terms.choice));
  return solution_of(problem, std::move(terms.choice));
}

namespace extracting {

ExtractorRow tree_greedy() {
  return {"tree-greedy", "cheapest term per class, shared nodes counted at each use",
          &extract_tree_greedy};
}

}  // namespace extracting

}  // namespace egret::extract
