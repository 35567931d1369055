// SPDX-License-Identifier: Apache-2.0
// Every small case: all e-graphs that merging can make of a set of terms, and all patterns up to a
// size, both up to renaming.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "egraph/core/egraph.h"
#include "egraph/core/pattern.h"
#include "egraph/search/syntax.h"

namespace egret::egraph {

// All ways to label n places with groups, numbered by first use (restricted growth strings):
// Bell(n) of them, which is 203 for 6 and 877 for 7.
inline void for_each_partition(std::size_t n,
                               const std::function<void(const std::vector<std::size_t>&)>& visit) {
  std::vector<std::size_t> groups(n);
  const std::function<void(std::size_t, std::size_t)> choose = [&](std::size_t i,
                                                                   std::size_t used) {
    if (i == n) return visit(groups);
    for (std::size_t group = 0; group <= used && group < n; ++group) {
      groups[i] = group;
      choose(i + 1, used + (group == used ? 1 : 0));
    }
  };
  choose(0, 0);
}

struct CaseLanguage {
  OpTable ops;
  OpId a = ops.op("a", 0);
  OpId f = ops.op("f", 1);
  OpId f1 = ops.op("f", 1, 1);
  OpId g = ops.op("g", 2);
};

// Calls visit for each e-graph that equalities between these terms (closed under subterms, which
// stand before them) can make, once per e-graph, and with `hiding` also with each node hidden.
inline void for_each_small_egraph(CaseLanguage& language,
                                  const std::vector<std::string_view>& terms, bool hiding,
                                  const std::function<void(const EGraph&)>& visit) {
  std::set<std::vector<std::size_t>> seen;
  for_each_partition(terms.size(), [&](const std::vector<std::size_t>& groups) {
    const auto make = [&] {
      auto egraph = std::make_unique<EGraph>(language.ops);
      const Syntax syntax(language.ops);
      std::vector<ClassId> ids, first;
      for (const std::string_view term : terms) ids.push_back(*syntax.add_term(*egraph, term));
      // Operators with a payload have no text: one above the first leaf.
      ids.push_back(*egraph->add(language.f1, {ids[0]}));
      for (std::size_t i = 0; i < groups.size(); ++i) {
        if (groups[i] == first.size()) first.push_back(ids[i]);
        (void)*egraph->merge(first[groups[i]], ids[i]);
      }
      (void)egraph->rebuild();
      std::vector<std::size_t> closed;  // the partition that congruence makes of it
      for (const ClassId id : ids) closed.push_back(egraph->find(id).index());
      return std::pair(std::move(egraph), closed);
    };
    auto [egraph, closed] = make();
    std::vector<std::size_t> numbers;
    for (std::size_t& id : closed) {
      const auto known = std::find(numbers.begin(), numbers.end(), id);
      const auto number = static_cast<std::size_t>(known - numbers.begin());
      if (known == numbers.end()) numbers.push_back(id);
      id = number;
    }
    if (!seen.insert(closed).second) return;
    visit(*egraph);
    if (!hiding) return;
    std::vector<NodeId> nodes;
    for (const ClassId id : egraph->classes()) {
      for (const NodeId node : egraph->nodes(id)) nodes.push_back(node);
    }
    for (const NodeId node : nodes) {
      auto partly = make().first;
      partly->hide(node);
      (void)partly->rebuild();
      visit(*partly);
    }
  });
}

// What an atom of a small pattern asks for: an exact operator, or any of a base, captured by one of
// two operator variables.
struct SmallAtom {
  OpId op;
  BaseId base;
  std::size_t capture = 0;
  std::size_t arity = 0;
};

inline std::vector<SmallAtom> small_atoms(const CaseLanguage& language) {
  const OpTable& ops = language.ops;
  const BaseId f = ops.base_of(language.f);
  return {{language.a, {}, 0, 0}, {language.f, {}, 0, 1}, {language.g, {}, 0, 2},
          {{}, f, 0, 1},          {{}, f, 1, 1},          {{}, ops.base_of(language.g), 0, 2}};
}

// Calls visit for each conjunction of `count` atoms with at most `places` variable places (an atom
// has one for its class and one for each child), each place any variable. This includes terms,
// multi-patterns, repeated variables, cycles and products. With `free_var`, one more variable that
// no atom binds.
inline void for_each_small_pattern(const CaseLanguage& language, std::size_t count,
                                   std::size_t places, bool free_var,
                                   const std::function<void(const Pattern&)>& visit) {
  const std::vector<SmallAtom> atoms = small_atoms(language);
  std::vector<std::size_t> chosen;
  const std::function<void(std::size_t)> choose = [&](std::size_t from) {
    if (chosen.size() < count) {
      for (std::size_t i = from; i < atoms.size(); ++i) {
        chosen.push_back(i);
        choose(i);
        chosen.pop_back();
      }
      return;
    }
    std::size_t needed = 0;
    for (const std::size_t i : chosen) needed += 1 + atoms[i].arity;
    if (needed > places) return;
    for_each_partition(needed, [&](const std::vector<std::size_t>& vars) {
      Pattern pattern;
      const OpVarId captures[] = {pattern.op_var("p"), pattern.op_var("q")};
      const auto var = [&](std::size_t i) { return pattern.var("v" + std::to_string(vars[i])); };
      std::size_t place = 0;
      for (const std::size_t i : chosen) {
        const VarId result = var(place++);
        std::vector<VarId> children;
        for (std::size_t c = 0; c < atoms[i].arity; ++c) children.push_back(var(place++));
        if (atoms[i].op.valid()) {
          pattern.node(atoms[i].op, children, result);
        } else {
          pattern.node(atoms[i].base, captures[atoms[i].capture], children, result);
        }
      }
      if (free_var) pattern.var("free");
      visit(pattern);
    });
  };
  choose(0);
}

}  // namespace egret::egraph
