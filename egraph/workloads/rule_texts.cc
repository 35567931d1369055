// SPDX-License-Identifier: Apache-2.0
#include "egraph/workloads/rule_texts.h"

namespace egret::egraph::workloads {

// egglog's math microbenchmark: the rules of egg's mathematics without conditions.
const std::string_view kMicroRules = R"(
comm-add: (+ ?a ?b) => (+ ?b ?a)
comm-mul: (* ?a ?b) => (* ?b ?a)
assoc-add: (+ ?a (+ ?b ?c)) => (+ (+ ?a ?b) ?c)
assoc-mul: (* ?a (* ?b ?c)) => (* (* ?a ?b) ?c)
sub-canon: (- ?a ?b) => (+ ?a (* -1 ?b))
zero-add: (+ ?a 0) => ?a
zero-mul: (* ?a 0) => 0
one-mul: (* ?a 1) => ?a
cancel-sub: (- ?a ?a) => 0
distribute: (* ?a (+ ?b ?c)) => (+ (* ?a ?b) (* ?a ?c))
factor: (+ (* ?a ?b) (* ?a ?c)) => (* ?a (+ ?b ?c))
pow-mul: (* (pow ?a ?b) (pow ?a ?c)) => (pow ?a (+ ?b ?c))
pow1: (pow ?x 1) => ?x
pow2: (pow ?x 2) => (* ?x ?x)
d-add: (d ?x (+ ?a ?b)) => (+ (d ?x ?a) (d ?x ?b))
d-mul: (d ?x (* ?a ?b)) => (+ (* ?a (d ?x ?b)) (* ?b (d ?x ?a)))
d-sin: (d ?x (sin ?x)) => (cos ?x)
d-cos: (d ?x (cos ?x)) => (* -1 (sin ?x))
i-one: (i 1 ?x) => ?x
i-cos: (i (cos ?x) ?x) => (sin ?x)
i-sin: (i (sin ?x) ?x) => (* -1 (cos ?x))
i-sum: (i (+ ?f ?g) ?x) => (+ (i ?f ?x) (i ?g ?x))
i-dif: (i (- ?f ?g) ?x) => (- (i ?f ?x) (i ?g ?x))
i-parts: (i (* ?a ?b) ?x) => (- (* ?a (i ?b ?x)) (i (* (d ?x ?a) (i ?b ?x)) ?x))
)";

// egg's mathematics (tests/math.rs), in its order.
const std::string_view kMathRules = R"(
comm-add: (+ ?a ?b) => (+ ?b ?a)
comm-mul: (* ?a ?b) => (* ?b ?a)
assoc-add: (+ ?a (+ ?b ?c)) => (+ (+ ?a ?b) ?c)
assoc-mul: (* ?a (* ?b ?c)) => (* (* ?a ?b) ?c)
sub-canon: (- ?a ?b) => (+ ?a (* -1 ?b))
div-canon: (/ ?a ?b) => (* ?a (pow ?b -1)) if not-zero(?b)
zero-add: (+ ?a 0) => ?a
zero-mul: (* ?a 0) => 0
one-mul: (* ?a 1) => ?a
add-zero: ?a => (+ ?a 0)
mul-one: ?a => (* ?a 1)
cancel-sub: (- ?a ?a) => 0
cancel-div: (/ ?a ?a) => 1 if not-zero(?a)
distribute: (* ?a (+ ?b ?c)) => (+ (* ?a ?b) (* ?a ?c))
factor: (+ (* ?a ?b) (* ?a ?c)) => (* ?a (+ ?b ?c))
pow-mul: (* (pow ?a ?b) (pow ?a ?c)) => (pow ?a (+ ?b ?c))
pow0: (pow ?x 0) => 1 if not-zero(?x)
pow1: (pow ?x 1) => ?x
pow2: (pow ?x 2) => (* ?x ?x)
pow-recip: (pow ?x -1) => (/ 1 ?x) if not-zero(?x)
recip-mul-div: (* ?x (/ 1 ?x)) => 1 if not-zero(?x)
d-variable: (d ?x ?x) => 1 if sym(?x)
d-constant: (d ?x ?c) => 0 if sym(?x) and const-or-distinct-var(?c, ?x)
d-add: (d ?x (+ ?a ?b)) => (+ (d ?x ?a) (d ?x ?b))
d-mul: (d ?x (* ?a ?b)) => (+ (* ?a (d ?x ?b)) (* ?b (d ?x ?a)))
d-sin: (d ?x (sin ?x)) => (cos ?x)
d-cos: (d ?x (cos ?x)) => (* -1 (sin ?x))
d-ln: (d ?x (ln ?x)) => (/ 1 ?x) if not-zero(?x)
d-power: (d ?x (pow ?f ?g)) => (* (pow ?f ?g) (+ (* (d ?x ?f) (/ ?g ?f)) (* (d ?x ?g) (ln ?f)))) if not-zero(?f) and not-zero(?g)
i-one: (i 1 ?x) => ?x
i-power-const: (i (pow ?x ?c) ?x) => (/ (pow ?x (+ ?c 1)) (+ ?c 1)) if const(?c)
i-cos: (i (cos ?x) ?x) => (sin ?x)
i-sin: (i (sin ?x) ?x) => (* -1 (cos ?x))
i-sum: (i (+ ?f ?g) ?x) => (+ (i ?f ?x) (i ?g ?x))
i-dif: (i (- ?f ?g) ?x) => (- (i ?f ?x) (i ?g ?x))
i-parts: (i (* ?a ?b) ?x) => (- (* ?a (i ?b ?x)) (i (* (d ?x ?a) (i ?b ?x)) ?x))
)";

const std::string_view kAssociativityRules = R"(
comm-add: (+ ?a ?b) => (+ ?b ?a)
assoc-add: (+ ?a (+ ?b ?c)) => (+ (+ ?a ?b) ?c)
assoc-add-rev: (+ (+ ?a ?b) ?c) => (+ ?a (+ ?b ?c))
)";

// egg's lambda calculus (tests/lambda.rs). Builder and conditions: lambda_analysis.h.
const std::string_view kLambdaRules = R"(
if-true: (if true ?then ?else) => ?then
if-false: (if false ?then ?else) => ?else
if-elim: (if (= (var ?x) ?e) ?then ?else) => ?else if equal-under(?x, ?e, ?then, ?else)
add-comm: (+ ?a ?b) => (+ ?b ?a)
add-assoc: (+ (+ ?a ?b) ?c) => (+ ?a (+ ?b ?c))
eq-comm: (= ?a ?b) => (= ?b ?a)
fix: (fix ?v ?e) => (let ?v (fix ?v ?e) ?e)
beta: (app (lam ?v ?body) ?e) => (let ?v ?e ?body)
let-app: (let ?v ?e (app ?a ?b)) => (app (let ?v ?e ?a) (let ?v ?e ?b))
let-add: (let ?v ?e (+ ?a ?b)) => (+ (let ?v ?e ?a) (let ?v ?e ?b))
let-eq: (let ?v ?e (= ?a ?b)) => (= (let ?v ?e ?a) (let ?v ?e ?b))
let-const: (let ?v ?e ?c) => ?c if const(?c)
let-if: (let ?v ?e (if ?cond ?then ?else)) => (if (let ?v ?e ?cond) (let ?v ?e ?then) (let ?v ?e ?else))
let-var-same: (let ?v1 ?e (var ?v1)) => ?e
let-var-diff: (let ?v1 ?e (var ?v2)) => (var ?v2) if distinct(?v1, ?v2)
let-lam-same: (let ?v1 ?e (lam ?v1 ?body)) => (lam ?v1 ?body)
let-lam-diff: ?let = (let ?v1 ?e (lam ?v2 ?body)) => ?let = let-under(?let, ?v1, ?e, ?v2, ?body) if distinct(?v1, ?v2)
)";

// egg's propositional logic (tests/prop.rs).
const std::string_view kContrapositiveRules = R"(
def-imply: (-> ?a ?b) => (| (~ ?a) ?b)
def-imply-flip: (| (~ ?a) ?b) => (-> ?a ?b)
double-neg-flip: ?a => (~ (~ ?a))
comm-or: (| ?a ?b) => (| ?b ?a)
)";

const std::string_view kChainRules = R"(
def-imply: (-> ?a ?b) => (| (~ ?a) ?b)
def-imply-flip: (| (~ ?a) ?b) => (-> ?a ?b)
double-neg-flip: ?a => (~ (~ ?a))
comm-or: (| ?a ?b) => (| ?b ?a)
comm-and: (& ?a ?b) => (& ?b ?a)
lem-imply: ?value = true, ?value = (& (-> ?a ?b) (-> (~ ?a) ?c)) => ?value = (| ?b ?c)
)";

// egg's first examples (tests/simple.rs).
const std::string_view kSimpleRules = R"(
comm-add: (+ ?a ?b) => (+ ?b ?a)
comm-mul: (* ?a ?b) => (* ?b ?a)
add-0: (+ ?a 0) => ?a
mul-0: (* ?a 0) => 0
mul-1: (* ?a 1) => ?a
)";

// The sum of tests/math.rs that needs two rules and no analysis.
const std::string_view kSumRules = R"(
comm-add: (+ ?a ?b) => (+ ?b ?a)
assoc-add: (+ ?a (+ ?b ?c)) => (+ (+ ?a ?b) ?c)
)";

}  // namespace egret::egraph::workloads
