// SPDX-License-Identifier: Apache-2.0
// Random equalities of whole workloads: all explanations replay, all that were tampered with are
// refused.
#include "tests/egraph/explanation_replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "egraph/search/runner.h"
#include "egraph/search/syntax.h"
#include "tests/egraph/explanation_workload.h"

namespace egret::egraph {
namespace {

TEST(ExplanationReplay, OfTheMicrobenchmark) {
  auto workload = ExplanationWorkload::open("mm-6");
  replay(workload->egraph(), workload->checker(), 1000, 1);
}

TEST(ExplanationReplay, OfMathematicsWithConditions) {
  auto workload = ExplanationWorkload::open("math-backoff-8");
  replay(workload->egraph(), workload->checker(), 1000, 2);
}

// Several sources with shared variables, sources that must be equal, operators with payloads, a
// computed operator, a computed term, a condition: all in one e-graph.
class MixedWorkload {
 public:
  MixedWorkload() {
    egraph_.enable_proofs();
    syntax_.define_condition("same", 2, [](EGraph& egraph, std::span<const ClassId> c) {
      if (!egraph.same(c[0], c[1])) return false;
      egraph.cite(c[0], c[1]);
      return true;
    });
    constexpr std::string_view kRules =
        "pair: ?p = (mul ?x ?a), ?q = (mul ?x ?b) => ?p = (fst (mul ?x (cat ?a ?b))), "
        "?q = (snd (mul ?x (cat ?a ?b)))\n"
        "fst: (fst (mul ?x (cat ?a ?b))) => (mul ?x ?a)\n"
        "comm: (add ?a ?b) => (add ?b ?a)\n"
        "assoc: (add ?a (add ?b ?c)) => (add (add ?a ?b) ?c)\n"
        "meet: ?s = (add ?a ?b), ?s = (mul ?c ?d) => (both ?a ?b ?c ?d)\n"
        "merge: (if ?t ?a ?b) => ?a if same(?a, ?b)\n";
    rules_ = *syntax_.rules(kRules);
    EGRET_CHECK(checker_.add_rules(kRules).ok());
    checker_.define_condition("same", [](const checking::Terms&, const std::vector<std::size_t>& a,
                                         const std::vector<checking::Equation>& evidence) {
      return a[0] == a[1] || std::ranges::any_of(evidence, [&](const checking::Equation& e) {
               return e.left == a[0] && e.right == a[1];
             });
    });
    add_sum();
    add_repeat();
  }

  void run(std::uint64_t seed) {
    base::Random random(seed);
    std::vector<ClassId> made;
    for (const char* name : {"x", "y", "z"}) made.push_back(*egraph_.add(ops_.op(name, 0)));
    for (std::uint64_t n = 0; n < 4; ++n) made.push_back(*egraph_.add(ops_.op("lit", 0, n)));
    for (int i = 0; i < 40; ++i) {
      const auto any = [&] { return made[random.below(made.size())]; };
      const std::uint64_t what = random.below(7);
      if (what < 3) made.push_back(*egraph_.add(ops_.op("add", 2), {any(), any()}));
      if (what == 3 || what == 4) made.push_back(*egraph_.add(ops_.op("mul", 2), {any(), any()}));
      if (what == 5) made.push_back(*egraph_.add(ops_.op("if", 3), {any(), any(), any()}));
      if (what == 6) {
        const ClassId n = made[3 + random.below(4)];
        made.push_back(*egraph_.add(ops_.op("times", 2), {n, any()}));
      }
    }
    ASSERT_TRUE(egraph_.merge(made[7 + random.below(10)], made[20], "hypothesis").ok());
    Runner runner(egraph_, rules_);
    runner.limits().iterations = 4;
    runner.limits().nodes = 1500;
    runner.run();
    checker_.define_axiom("hypothesis",
                          [](const checking::Terms&, std::size_t, std::size_t) { return true; });
  }

  const EGraph& egraph() const { return egraph_; }
  const checking::CertificateChecker& checker() const { return checker_; }

 private:
  // lit{m} + lit{n} = lit{m + n}, by a computed operator.
  void add_sum() {
    Pattern p;
    const BaseId lit = ops_.base("lit");
    const OpVarId m = p.op_var("m"), n = p.op_var("n");
    const VarId sum = p.node(ops_.op("add", 2), {p.node(lit, m, {}), p.node(lit, n, {})});
    Rewrite rule("sum", std::move(p));
    const Rewrite::OpBuilder make = [m, n](EGraph& egraph,
                                           const Match& match) -> base::Result<OpId> {
      OpTable& ops = egraph.ops();
      return ops.op("lit", 0, ops.payload(match[m]) + ops.payload(match[n]));
    };
    rule.equate(sum, rule.build(make, std::initializer_list<VarId>{}, "sum"));
    rules_.push_back(std::move(rule));
    EGRET_CHECK(checker_.add_rules("sum: (add lit{?m} lit{?n}) => !sum").ok());
    checker_.define_computed("sum", [](const checking::Terms& terms, const auto&,
                                       const std::map<std::string, std::string>& operators,
                                       std::size_t made, const auto&) {
      return number(terms.node(made).op) ==
                 number(operators.at("?m")) + number(operators.at("?n")) &&
             terms.node(made).children.empty();
    });
  }

  // times(lit{n}, x) = x + (x + ... + lit{0}), by a computed term.
  void add_repeat() {
    Pattern p;
    const OpVarId n = p.op_var("n");
    const VarId x = p.var("x");
    const VarId product = p.node(ops_.op("times", 2), {p.node(ops_.base("lit"), n, {}), x});
    Rewrite rule("repeat", std::move(p));
    const VarId built = rule.build(
        [n, x](EGraph& egraph, const Match& match) -> base::Result<ClassId> {
          OpTable& ops = egraph.ops();
          if (ops.payload(match[n]) > 5) return base::unsupported("too many");
          base::Result<ClassId> sum = egraph.add(ops.op("lit", 0));
          for (std::uint64_t i = 0; i < ops.payload(match[n]) && sum.ok(); ++i)
            sum = egraph.add(ops.op("add", 2), {match[x], *sum});
          return sum;
        },
        "repeat");
    rule.equate(product, built);
    rules_.push_back(std::move(rule));
    EGRET_CHECK(checker_.add_rules("repeat: (times lit{?n} ?x) => !repeat").ok());
    checker_.define_computed("repeat", [](const checking::Terms& terms, const auto& substitution,
                                          const std::map<std::string, std::string>& operators,
                                          std::size_t made, const auto&) {
      for (std::uint64_t i = number(operators.at("?n")); i > 0; --i) {
        const auto& node = terms.node(made);
        if (node.op != "add" || node.children[0] != substitution.at("?x")) return false;
        made = node.children[1];
      }
      return terms.node(made).op == "lit" && terms.node(made).children.empty();
    });
  }
  // The n of lit{n}; of anything else a number that no rule makes.
  static std::uint64_t number(const std::string& op) {
    if (!op.starts_with("lit{")) return op == "lit" ? 0 : 1'000'000'007;
    return std::stoull(op.substr(4));
  }

  OpTable ops_;
  Syntax syntax_{ops_};
  EGraph egraph_{ops_};
  std::vector<Rewrite> rules_;
  checking::CertificateChecker checker_;
};

TEST(ExplanationReplay, OfMultiPatternsAndComputedSides) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    MixedWorkload workload;
    workload.run(seed);
    replay(workload.egraph(), workload.checker(), 150, seed);
  }
}

TEST(ExplanationReplay, OfTheLambdaCalculus) {
  auto workload = ExplanationWorkload::open("lambda-backoff-8");
  replay(workload->egraph(), workload->checker(), 500, 4);
}

TEST(ExplanationReplay, OfPropositions) {
  for (const char* name : {"prop-contrapositive", "prop-chain"}) {
    SCOPED_TRACE(name);
    auto workload = ExplanationWorkload::open(name);
    replay(workload->egraph(), workload->checker(), 200, 5);
  }
}

TEST(ExplanationReplay, OfSums) {
  auto workload = ExplanationWorkload::open("assoc-6");
  replay(workload->egraph(), workload->checker(), 1000, 3);
}

}  // namespace
}  // namespace egret::egraph
