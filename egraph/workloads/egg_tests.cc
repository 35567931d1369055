// SPDX-License-Identifier: Apache-2.0
#include "egraph/workloads/egg_tests.h"

#include "egraph/workloads/constant_folding.h"
#include "egraph/workloads/lambda_analysis.h"
#include "egraph/workloads/rule_texts.h"
#include "egraph/workloads/truth_analysis.h"

namespace egret::egraph::workloads {
namespace {

const Theory& math() {
  static const Theory theory{kMathRules, ConstantFolding::prepare};
  return theory;
}
const Theory& lambda() {
  static const Theory theory{kLambdaRules, LambdaAnalysis::prepare};
  return theory;
}

constexpr std::string_view kRoot = "(/ 1 (- (/ (+ 1 (sqrt five)) 2) (/ (- 1 (sqrt five)) 2)))";

constexpr std::string_view kCompose = R"(
  (let compose (lam f (lam g (lam x (app (var f) (app (var g) (var x))))))
  (let add1 (lam y (+ (var y) 1))
    (app (app (var compose) (var add1)) (var add1)))))";

constexpr std::string_view kComposeMany = R"(
  (let compose (lam f (lam g (lam x (app (var f) (app (var g) (var x))))))
  (let add1 (lam y (+ (var y) 1))
    (app (app (var compose) (var add1))
    (app (app (var compose) (var add1))
    (app (app (var compose) (var add1))
    (app (app (var compose) (var add1))
    (app (app (var compose) (var add1))
    (app (app (var compose) (var add1))
         (var add1))))))))))";

constexpr std::string_view kZeroOne = R"(
  (let zeroone (lam x (if (= (var x) 0) 0 1))
    (+ (app (var zeroone) 0) (app (var zeroone) 10))))";

constexpr std::string_view kRepeat = R"(
  (let compose (lam f (lam g (lam x (app (var f) (app (var g) (var x))))))
  (let repeat (fix repeat (lam fun (lam n
      (if (= (var n) 0)
          (lam i (var i))
          (app (app (var compose) (var fun))
               (app (app (var repeat) (var fun)) (+ (var n) -1)))))))
  (let add1 (lam y (+ (var y) 1))
    (app (app (var repeat) (var add1)) 2)))))";

constexpr std::string_view kFibonacci = R"(
  (let fib (fix fib (lam n
      (if (= (var n) 0) 0
      (if (= (var n) 1) 1
          (+ (app (var fib) (+ (var n) -1))
             (app (var fib) (+ (var n) -2)))))))
    (app (var fib) 4)))";

constexpr std::string_view kNotSeven = R"(
  (let five 5
  (let add-five (lam x (+ (var x) (var five)))
  (let five 6
    (app (var add-five) 1)))))";

Workload test(std::string_view name, const Theory& theory, std::string_view start,
              std::vector<std::string_view> goals) {
  Workload workload;
  workload.name = name;
  workload.theory = theory;
  workload.terms = {start};
  workload.goals = std::move(goals);
  workload.scheduler = "backoff";
  workload.limits.iterations = 30;
  workload.limits.nodes = workload.limits.matches = Limits::kNone;
  workload.limits.bytes = std::uint64_t{8} << 30;  // a safety limit for the machine, never reached
  workload.max_keys = 10'000;
  return workload;
}

Workload with_limits(Workload workload, std::uint64_t iterations, std::uint64_t max_keys) {
  workload.limits.iterations = iterations;
  workload.max_keys = max_keys;
  return workload;
}

Workload associate_adds() {
  Workload workload =
      test("math_associate_adds", {kSumRules}, "(+ 1 (+ 2 (+ 3 (+ 4 (+ 5 (+ 6 7))))))",
           {"(+ 7 (+ 6 (+ 5 (+ 4 (+ 3 (+ 2 1))))))"});
  workload.scheduler = "simple";
  workload.limits.iterations = 7;
  return workload;
}

Workload power_harder() {
  Workload workload =
      with_limits(test("diff_power_harder", math(), "(d x (- (pow x 3) (* 7 (pow x 2))))",
                       {"(* x (- (* 3 x) 14))"}),
                  60, 100'000);
  workload.terms.insert(workload.terms.begin(), workload.goals[0]);  // egg adds the goal first
  return workload;
}

Workload proposition(std::string_view name, std::string_view rules, std::string_view start,
                     std::vector<std::string_view> goals) {
  Workload workload =
      with_limits(test(name, {rules, TruthAnalysis::prepare}, start, std::move(goals)), 20, 5'000);
  workload.is_true = true;
  return workload;
}

std::vector<Workload> all_tests() {
  return {
      associate_adds(),
      test("math_fail", math(), "(+ x y)", {"(/ x y)"}),
      test("math_simplify_add", math(), "(+ x (+ x (+ x x)))", {"(* 4 x)"}),
      test("math_powers", math(), "(* (pow 2 x) (pow 2 y))", {"(pow 2 (+ x y))"}),
      test("math_simplify_const", math(), "(+ 1 (- a (* (- 2 1) a)))", {"1"}),
      with_limits(test("math_simplify_root", math(), kRoot, {"(/ 1 (sqrt five))"}), 30, 75'000),
      test("math_simplify_factor", math(), "(* (+ x 3) (+ x 1))", {"(+ (+ (* x x) (* 4 x)) 3)"}),
      test("math_diff_same", math(), "(d x x)", {"1"}),
      test("math_diff_different", math(), "(d x y)", {"0"}),
      test("math_diff_simple1", math(), "(d x (+ 1 (* 2 x)))", {"2"}),
      test("math_diff_simple2", math(), "(d x (+ 1 (* y x)))", {"y"}),
      test("math_diff_ln", math(), "(d x (ln x))", {"(/ 1 x)"}),
      test("diff_power_simple", math(), "(d x (pow x 3))", {"(* 3 (pow x 2))"}),
      power_harder(),
      test("integ_one", math(), "(i 1 x)", {"x"}),
      test("integ_sin", math(), "(i (cos x) x)", {"(sin x)"}),
      test("integ_x", math(), "(i (pow x 1) x)", {"(/ (pow x 2) 2)"}),
      test("integ_part1", math(), "(i (* x (cos x)) x)", {"(+ (* x (sin x)) (cos x))"}),
      test("integ_part2", math(), "(i (* (cos x) x) x)", {"(+ (* x (sin x)) (cos x))"}),
      test("integ_part3", math(), "(i (ln x) x)", {"(- (* x (ln x)) x)"}),

      test("lambda_under", lambda(), "(lam x (+ 4 (app (lam y (var y)) 4)))", {"(lam x 8)"}),
      test("lambda_if_elim", lambda(),
           "(if (= (var a) (var b)) (+ (var a) (var a)) (+ (var a) (var b)))",
           {"(+ (var a) (var b))"}),
      test("lambda_let_simple", lambda(), "(let x 0 (let y 1 (+ (var x) (var y))))", {"1"}),
      test("lambda_capture", lambda(), "(let x 1 (lam x (var x)))", {"(lam x 1)"}),
      test("lambda_capture_free", lambda(), "(let y (+ (var x) (var x)) (lam x (var y)))",
           {"(lam x (+ (var x) (var x)))"}),
      test("lambda_closure_not_seven", lambda(), kNotSeven, {"7"}),
      test("lambda_compose", lambda(), kCompose,
           {"(lam ?x (+ 1 (app (lam ?y (+ 1 (var ?y))) (var ?x))))", "(lam ?x (+ (var ?x) 2))"}),
      test("lambda_if_simple", lambda(), "(if (= 1 1) 7 9)", {"7"}),
      test("lambda_compose_many", lambda(), kComposeMany, {"(lam ?x (+ (var ?x) 7))"}),
      with_limits(test("lambda_function_repeat", lambda(), kRepeat, {"(lam ?x (+ (var ?x) 2))"}),
                  60, 150'000),
      test("lambda_if", lambda(), kZeroOne, {"1"}),
      with_limits(test("lambda_fib", lambda(), kFibonacci, {"3"}), 60, 500'000),

      proposition("prop-contrapositive", kContrapositiveRules, "(-> x y)",
                  {"(-> x y)", "(| (~ x) y)", "(| (~ x) (~ (~ y)))", "(| (~ (~ y)) (~ x))",
                   "(-> (~ y) (~ x))"}),
      proposition("prop-chain", kChainRules, "(& (-> x y) (-> y z))",
                  {"(& (-> x y) (-> y z))", "(& (-> (~ y) (~ x)) (-> y z))",
                   "(& (-> y z) (-> (~ y) (~ x)))", "(| z (~ x))", "(| (~ x) z)", "(-> x z)"}),
      test("simple-1", {kSimpleRules}, "(* 0 42)", {}),
      test("simple-2", {kSimpleRules}, "(+ 0 (* 1 foo))", {}),
  };
}

// Returns the start terms of all of egg's mathematics tests that use all of its rules.
const std::vector<std::string_view> kAllTerms = {
    "(+ x y)",
    "(+ x (+ x (+ x x)))",
    "(* (pow 2 x) (pow 2 y))",
    "(+ 1 (- a (* (- 2 1) a)))",
    kRoot,
    "(* (+ x 3) (+ x 1))",
    "(d x x)",
    "(d x y)",
    "(d x (+ 1 (* 2 x)))",
    "(d x (+ 1 (* y x)))",
    "(d x (ln x))",
    "(d x (pow x 3))",
    "(d x (- (pow x 3) (* 7 (pow x 2))))",
    "(i 1 x)",
    "(i (cos x) x)",
    "(i (pow x 1) x)",
    "(i (* x (cos x)) x)",
    "(i (* (cos x) x) x)",
    "(i (ln x) x)",
};

bool cut(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

}  // namespace

std::optional<Workload> egg_test(std::string_view name) {
  for (Workload& workload : all_tests()) {
    if (workload.name == name) return std::move(workload);
  }
  return {};
}

std::vector<std::string_view> egg_test_names() {
  static const std::vector<Workload> tests = all_tests();
  std::vector<std::string_view> names;
  for (const Workload& workload : tests) names.push_back(workload.name);
  return names;
}

std::optional<Workload> scale_run(std::string_view name) {
  Workload workload = with_limits(test(name, math(), {}, {}), 50, 0);
  if (cut(name, "scale-all-rat")) {
    workload.terms = kAllTerms;
  } else if (cut(name, "scale-bench7-rat")) {
    workload.terms = math_bench_terms();
  } else {
    return {};
  }
  workload.scheduler = cut(name, "-backoff") ? "backoff" : "simple";
  if (name != "-100k" && name != "-1m") return {};
  // "math-simple-1m" explains why the limit is not exactly a million.
  workload.max_keys = name == "-1m" ? 950'000 : 100'000;
  return workload;
}

const std::vector<std::string_view>& math_bench_terms() {
  static const std::vector<std::string_view> terms = {
      "(i (ln x) x)",
      "(i (+ x (cos x)) x)",
      "(i (* (cos x) x) x)",
      "(d x (+ 1 (* 2 x)))",
      "(d x (- (pow x 3) (* 7 (pow x 2))))",
      "(+ (* y (+ x y)) (- (+ x 2) (+ x x)))",
      kRoot,
  };
  return terms;
}

const std::vector<std::string_view>& lambda_bench_terms() {
  static const std::vector<std::string_view> terms = {kZeroOne, kRepeat, kFibonacci};
  return terms;
}

}  // namespace egret::egraph::workloads
