// SPDX-License-Identifier: Apache-2.0
// Random small e-graphs and patterns for comparing searches.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "egraph/core/egraph.h"
#include "egraph/core/pattern.h"

namespace egret::egraph {

// Constants, unary and binary operators, two of each kind.
struct SmallLanguage {
  OpTable ops;
  std::vector<OpId> all = {ops.op("a", 0),    ops.op("b", 0), ops.op("f", 1),
                           ops.op("f", 1, 1), ops.op("g", 2), ops.op("g", 2, 1)};
};

// Adds and merges at random among `handles`, which gets what is added; hides now and then;
// rebuilds.
inline void grow_egraph(EGraph& egraph, const SmallLanguage& language, base::Random& random,
                        std::size_t steps, std::vector<ClassId>& handles) {
  for (std::size_t i = 0; i < steps; ++i) {
    const OpId op = language.all[random.below(language.all.size())];
    std::vector<ClassId> children;
    for (std::size_t c = 0; c < egraph.ops().arity(op); ++c) {
      children.push_back(handles[random.below(handles.size())]);
    }
    handles.push_back(*egraph.add(op, children));
    if (random.chance(0.3)) {
      const ClassId other = handles[random.below(handles.size())];
      ASSERT_TRUE(egraph.merge(handles.back(), other).ok());
    }
  }
  if (random.chance(0.2)) {
    const auto nodes = egraph.nodes(egraph.find(handles.back()));
    if (!nodes.empty()) egraph.hide(nodes.front());
  }
  ASSERT_TRUE(egraph.rebuild().ok());
}

inline void grow_egraph(EGraph& egraph, const SmallLanguage& language, base::Random& random,
                        std::size_t steps) {
  std::vector<ClassId> handles = {*egraph.add(language.all[0])};
  grow_egraph(egraph, language, random, steps, handles);
}

// Up to three atoms over up to four variables, exact and captured operators, shared captures,
// predicates; connected or not, cyclic or not.
inline Pattern random_pattern(const SmallLanguage& language, base::Random& random) {
  Pattern pattern;
  std::vector<VarId> vars;
  for (std::uint64_t i = 0, n = 1 + random.below(4); i < n; ++i) vars.push_back(pattern.var());
  const auto any = [&] { return vars[random.below(vars.size())]; };
  const OpVarId captures[] = {pattern.op_var("p"), pattern.op_var("q")};
  for (std::uint64_t i = 0, n = random.below(4); i < n; ++i) {
    const OpId op = language.all[random.below(language.all.size())];
    std::vector<VarId> children;
    for (std::size_t c = 0; c < language.ops.arity(op); ++c) children.push_back(any());
    const VarId result = random.chance(0.5) ? any() : VarId();
    if (random.chance(0.5)) {
      vars.push_back(pattern.node(op, children, result));
    } else {
      vars.push_back(
          pattern.node(language.ops.base_of(op), captures[random.below(2)], children, result));
    }
  }
  if (random.chance(0.3)) {
    pattern.require(captures[0], [&](OpId op) { return language.ops.payload(op) == 1; });
  }
  return pattern;
}

inline std::string describe(const Pattern& pattern, const OpTable& ops) {
  std::string text;
  for (const Pattern::Atom& atom : pattern.atoms()) {
    text += "v" + std::to_string(atom.result.index()) + " = ";
    text += atom.op.valid()
                ? ops.text(atom.op)
                : std::string(ops.name(atom.base)) + "@" + std::to_string(atom.capture.index());
    for (const VarId child : atom.children) text += " v" + std::to_string(child.index());
    text += "; ";
  }
  return text;
}

}  // namespace egret::egraph
