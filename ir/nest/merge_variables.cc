// SPDX-License-Identifier: Apache-2.0
#include "ir/nest/merge_variables.h"

#include <algorithm>
#include <cstdint>

namespace egret::ir {
namespace {

// Every form of the nest.
template <typename Visit>
void for_each_form(LoopNest& nest, const Visit& visit) {
  visit(nest.output);
  for (IndexSymbol& symbol : nest.symbols) {
    visit(symbol.a);
    visit(symbol.b);
  }
  for (NestGuard& guard : nest.guards) visit(guard.form);
  for (NestNode& node : nest.nodes) {
    visit(node.form);
    for (auto& checked : node.checked) visit(checked.index);
  }
}

// The condition that merging is exact: every form uses the pair as factor * (outer*extent + inner),
// so that no form sees the two variables apart. Guards and checked axes count as forms too.
bool mergeable(LoopNest& nest, int outer, int inner) {
  bool good = nest.extent(inner) <= INT64_MAX / std::max<std::int64_t>(nest.extent(outer), 1);
  for_each_form(nest, [&](const Affine& form) {
    good = good && form.factor(outer) == form.factor(inner) * nest.extent(inner);
  });
  return good;
}

// `inner` becomes outer*extent(inner) + inner.
void merge(LoopNest& nest, int outer, int inner) {
  for_each_form(nest, [&](Affine& form) {
    const auto found = std::ranges::find(form.parts, outer, &Affine::Part::symbol);
    if (found != form.parts.end()) form.parts.erase(found);
  });
  IndexSymbol& joint = nest.symbols[static_cast<std::size_t>(inner)];
  joint.extent *= nest.extent(outer);
  joint.range.high = joint.extent - 1;
}

// Tries all ordered pairs, since contiguous axes need not be neighbours in the loop order.
// Each merge removes a variable, so at most n - 1 merges happen. A nest has few variables.
void merge_within(LoopNest& nest, std::vector<int>& variables) {
  for (std::size_t i = variables.size(); i-- > 0;) {
    for (std::size_t k = variables.size(); k-- > 0;) {
      if (i == k || i >= variables.size() || !mergeable(nest, variables[k], variables[i])) continue;
      merge(nest, variables[k], variables[i]);
      variables.erase(variables.begin() + static_cast<std::ptrdiff_t>(k));
      if (k < i) --i;
    }
  }
}

}  // namespace

void merge_neighbours(LoopNest& nest, std::vector<int>& variables) {
  for (std::size_t i = variables.size(); i-- > 1;) {
    if (!mergeable(nest, variables[i - 1], variables[i])) continue;
    merge(nest, variables[i - 1], variables[i]);
    variables.erase(variables.begin() + static_cast<std::ptrdiff_t>(i) - 1);
  }
}

// Joins loops over contiguous axes into one. Fewer and longer loops vectorize better and have less
// overhead.
void merge_variables(LoopNest& nest) {
  merge_within(nest, nest.output_variables);
  // A variable that several reductions share must stay what it is in all of them.
  std::vector<int> uses(nest.symbols.size(), 0);
  for (const NestNode& node : nest.nodes) {
    for (const int variable : node.variables) ++uses[static_cast<std::size_t>(variable)];
  }
  for (NestNode& node : nest.nodes) {
    const bool own = std::ranges::all_of(
        node.variables, [&](int v) { return uses[static_cast<std::size_t>(v)] == 1; });
    if (own && node.op == ExprOp::kReduce) merge_within(nest, node.variables);
  }
}

}  // namespace egret::ir
