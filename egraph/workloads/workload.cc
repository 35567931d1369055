// SPDX-License-Identifier: Apache-2.0
#include "egraph/workloads/workload.h"

#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "egraph/workloads/constant_folding.h"

namespace egret::egraph::workloads {
namespace {

// egglog's math microbenchmark: the unconditional half of egg's mathematics.
constexpr std::string_view kMicroRules = R"(
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
constexpr std::string_view kMathRules = R"(
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

constexpr std::string_view kAssociativityRules = R"(
comm-add: (+ ?a ?b) => (+ ?b ?a)
assoc-add: (+ ?a (+ ?b ?c)) => (+ (+ ?a ?b) ?c)
assoc-add-rev: (+ (+ ?a ?b) ?c) => (+ ?a (+ ?b ?c))
)";

const std::vector<std::string_view> kMicroTerms = {
    "(i (ln x) x)",
    "(i (+ x (cos x)) x)",
    "(i (* (cos x) x) x)",
    "(d x (+ 1 (* 2 x)))",
    "(d x (- (pow x 3) (* 7 (pow x 2))))",
    "(+ (* y (+ x y)) (- (+ x 2) (+ x x)))",
    "(/ 1 (- (/ (+ 1 (sqrt five)) 2) (/ (- 1 (sqrt five)) 2)))",
};

// The start terms of all of egg's mathematics tests that use all of its rules.
const std::vector<std::string_view> kAllTerms = {
    "(+ x y)",
    "(+ x (+ x (+ x x)))",
    "(* (pow 2 x) (pow 2 y))",
    "(+ 1 (- a (* (- 2 1) a)))",
    "(/ 1 (- (/ (+ 1 (sqrt five)) 2) (/ (- 1 (sqrt five)) 2)))",
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

// (+ a1 (+ a2 ... aN)), N <= 10.
constexpr std::array<std::string_view, 11> kSums = {
    "",
    "a1",
    "(+ a1 a2)",
    "(+ a1 (+ a2 a3))",
    "(+ a1 (+ a2 (+ a3 a4)))",
    "(+ a1 (+ a2 (+ a3 (+ a4 a5))))",
    "(+ a1 (+ a2 (+ a3 (+ a4 (+ a5 a6)))))",
    "(+ a1 (+ a2 (+ a3 (+ a4 (+ a5 (+ a6 a7))))))",
    "(+ a1 (+ a2 (+ a3 (+ a4 (+ a5 (+ a6 (+ a7 a8)))))))",
    "(+ a1 (+ a2 (+ a3 (+ a4 (+ a5 (+ a6 (+ a7 (+ a8 a9))))))))",
    "(+ a1 (+ a2 (+ a3 (+ a4 (+ a5 (+ a6 (+ a7 (+ a8 (+ a9 a10)))))))))",
};

constexpr std::array<std::string_view, 9> kNames = {
    "mm-10",
    "mm-11",
    "mm-12",
    "math-simple-1m",
    "math-backoff-60",
    "math-backoff-100",
    "assoc-10",
    "scale-all-rat-1m",
    "scale-bench7-rat-1m",
};

// The number after `prefix`, if `name` is just that.
std::optional<std::uint64_t> numbered(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return {};
  name.remove_prefix(prefix.size());
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), n);
  if (error != std::errc() || end != name.data() + name.size()) return {};
  return n;
}

Limits iterations(std::uint64_t n) {
  Limits limits;
  limits.iterations = n;
  limits.nodes = limits.matches = Limits::kNone;
  limits.bytes = std::uint64_t{8} << 30;  // a machine's safety, never reached
  return limits;
}

}  // namespace

std::span<const std::string_view> workload_names() { return kNames; }

base::Result<Workload> find_workload(std::string_view name) {
  Workload workload;
  workload.name = name;
  if (const auto n = numbered(name, "mm-")) {
    workload.rules = kMicroRules;
    workload.terms = kMicroTerms;
    workload.limits = iterations(*n);
    return workload;
  }
  if (const auto n = numbered(name, "assoc-"); n && *n > 0 && *n < kSums.size()) {
    workload.rules = kAssociativityRules;
    workload.terms = {kSums[*n]};
    workload.limits = iterations(Limits::kNone);
    return workload;
  }
  workload.rules = kMathRules;
  workload.folds_constants = true;
  workload.terms = name == "scale-all-rat-1m" ? kAllTerms : kMicroTerms;
  if (const auto n = numbered(name, "math-backoff-")) {
    workload.scheduler = "backoff";
    workload.limits = iterations(*n);
    return workload;
  }
  if (name == "math-simple-1m" || name == "scale-all-rat-1m" || name == "scale-bench7-rat-1m") {
    workload.limits = iterations(50);
    workload.max_keys = 1'000'000;
    return workload;
  }
  std::string names;
  for (const std::string_view known : kNames) names.append(" ").append(known);
  return base::usage_error(
      std::string("no workload '").append(name).append("'; there are:").append(names));
}

Session::Session(Workload workload) : workload_(std::move(workload)), syntax_(ops_) {
  if (workload_.folds_constants) {
    auto folding = std::make_unique<ConstantFolding>(ops_);
    folding->define_conditions(syntax_);
    analysis_ = std::move(folding);
  }
  egraph_ = std::make_unique<EGraph>(ops_, analysis_.get());
}

base::Result<std::unique_ptr<Session>> Session::open(Workload workload) {
  std::unique_ptr<Session> session(new Session(std::move(workload)));
  EGRET_ASSIGN_OR_RETURN(session->rules_, session->syntax_.rules(session->workload_.rules));
  for (const std::string_view term : session->workload_.terms) {
    EGRET_ASSIGN_OR_RETURN(const ClassId root, session->syntax_.add_term(*session->egraph_, term));
    session->roots_.push_back(root);
  }
  EGRET_RETURN_IF_ERROR(session->egraph_->rebuild());
  session->runner_ = std::make_unique<Runner>(*session->egraph_, session->rules_);
  EGRET_ASSIGN_OR_RETURN(auto scheduler, make_scheduler(session->workload_.scheduler));
  session->runner_->set_scheduler(std::move(scheduler));
  session->runner_->limits() = session->workload_.limits;
  session->runner_->hooks().after_rule = [max = session->workload_.max_keys](const EGraph& egraph,
                                                                             std::size_t) {
    return egraph.keys_inserted() <= max;
  };
  return session;
}

}  // namespace egret::egraph::workloads
