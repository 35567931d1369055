// SPDX-License-Identifier: Apache-2.0
// Explanations as JSON, for a checker that knows nothing of e-graphs.
//
// Both forms have a table of operators (as OpTable::text() writes them), one of terms, each
// distinct term once and after its children, and one of the rules used, with the text of
// RuleForm::text() and its content hash, by which a checker finds the rule among those that it
// trusts.
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
// Steps come after their premises; each names both of its sides. Kinds: "refl", "sym", "trans",
// "congruence" (premises, one for each child), "rule" (premises: those of the rule; evidence: what
// its conditions relied on), "axiom". In the flat form ("egret-equality-flat") there are proofs,
// each a sequence of rewrites of a whole term, instead of steps:
//
//    "proofs": [{"left": 2, "right": 3, "steps": [
//        {"kind": "rule", "rule": 0, "equation": 0, "direction": "forward", "position": [],
//         "substitution": {"?a": 0, "?b": 1}, "operators": {}, "premises": [], "evidence": [],
//         "term": 3}]}],
//    "claim": {"left": 2, "right": 3, "proof": 0}
//
// where premises and evidence are earlier proofs, "backward" rewrites the right side to the left,
// and an axiom says which two terms it makes equal.
#pragma once

#include "base/formats/json.h"
#include "egraph/proofs/explanation.h"

namespace egret::egraph {

base::Json tree_certificate(const Explanation& proof);
// Fails when there are more than `max_steps` rewrites, those of premises included.
base::Result<base::Json> flat_certificate(const Explanation& proof,
                                          std::size_t max_steps = 100'000);

}  // namespace egret::egraph
