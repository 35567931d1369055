// SPDX-License-Identifier: Apache-2.0
// Writes explanations as JSON, for a checker without an e-graph.
//
// Both forms have three tables. Operators are written as by OpTable::text(). Each distinct term is
// listed once, after its children. Each used rule has its RuleForm::text() and the content hash of
// that text, by which a checker finds the rule among those that it trusts.
//
//   {"schema_version": 1, "format": "egret-equality-tree",
//    "operators": ["+", "a", "b"],
//    "terms": [[1], [2], [0, 0, 1], [0, 1, 0]],             operator, children
//    "rules": [{"name": "comm", "text": "(+ ?a ?b) => (+ ?b ?a)", "hash": "..."}],
//    "axioms": [],
//    "steps": [{"kind": "rule", "left": 2, "right": 3, "rule": 0, "equation": 0,
//               "substitution": {"?a": 0, "?b": 1}, "operators": {},
//               "premises": [], "evidence": []}],
//    "claim": {"left": 2, "right": 3, "step": 0}}
//
// Steps come after their premises. Each step names both of its sides. Kinds: "refl", "sym",
// "trans", "congruence" (premises, one per child), "rule" (premises: those of the rule; evidence:
// what its conditions relied on), "axiom". The flat form ("egret-equality-flat") has proofs instead
// of steps. Each proof is a sequence of rewrites of a whole term:
//
//    "proofs": [{"left": 2, "right": 3, "steps": [
//        {"kind": "rule", "rule": 0, "equation": 0, "direction": "forward", "position": [],
//         "substitution": {"?a": 0, "?b": 1}, "operators": {}, "premises": [], "evidence": [],
//         "term": 3}]}],
//    "claim": {"left": 2, "right": 3, "proof": 0}
//
// Premises and evidence are indices of earlier proofs. "backward" rewrites the right side to the
// left. An axiom states the two terms that it makes equal.
#pragma once

#include "base/formats/json.h"
#include "egraph/proofs/explanation.h"

namespace egret::egraph {

base::Json tree_certificate(const Explanation& proof);
// Fails if there are more than `max_steps` rewrites, including those in premises.
base::Result<base::Json> flat_certificate(const Explanation& proof,
                                          std::size_t max_steps = 100'000);

}  // namespace egret::egraph
