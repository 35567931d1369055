// SPDX-License-Identifier: Apache-2.0
#include "tests/egraph/explanation_workload.h"

#include <charconv>
#include <map>
#include <numeric>
#include <optional>

#include "egraph/core/egraph.h"

namespace egret::egraph {

using checking::Equation;
using checking::Terms;

namespace {

// Fractions in lowest terms, denominator positive; small numbers only.
struct Fraction {
  std::int64_t above = 0;
  std::int64_t below = 1;
  friend bool operator==(const Fraction&, const Fraction&) = default;
};

std::optional<Fraction> reduced(std::int64_t above, std::int64_t below) {
  if (below == 0) return {};
  const std::int64_t common = std::gcd(above, below) * (below < 0 ? -1 : 1);
  return Fraction{above / common, below / common};
}

std::optional<std::int64_t> integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

std::optional<Fraction> literal(const Terms& terms, Terms::Term term) {
  const Terms::Node& node = terms.node(term);
  if (!node.children.empty()) return {};
  const std::size_t slash = node.op.find('/');
  if (slash == 0) return {};
  const auto above = integer(std::string_view(node.op).substr(0, slash));
  const auto below = slash == std::string::npos
                         ? std::optional<std::int64_t>(1)
                         : integer(std::string_view(node.op).substr(slash + 1));
  if (!above || !below || *below < 1) return {};
  return reduced(*above, *below);
}

bool is_symbol(const Terms& terms, Terms::Term term) {
  return terms.node(term).children.empty() && !literal(terms, term);
}

// One operator on two numbers.
std::optional<Fraction> folded(const Terms& terms, Terms::Term term) {
  const Terms::Node& node = terms.node(term);
  if (node.children.size() != 2) return {};
  const auto a = literal(terms, node.children[0]);
  const auto b = literal(terms, node.children[1]);
  if (!a || !b) return {};
  if (node.op == "+")
    return reduced(a->above * b->below + b->above * a->below, a->below * b->below);
  if (node.op == "-")
    return reduced(a->above * b->below - b->above * a->below, a->below * b->below);
  if (node.op == "*") return reduced(a->above * b->above, a->below * b->below);
  if (node.op == "/") return reduced(a->above * b->below, a->below * b->above);
  return {};
}

// Whether the term is, or was shown to be, one for which the predicate holds.
template <typename Predicate>
bool shown(Terms::Term term, const std::vector<Equation>& evidence, Predicate holds) {
  if (holds(term)) return true;
  for (const Equation& equation : evidence) {
    if (equation.left == term && holds(equation.right)) return true;
  }
  return false;
}

}  // namespace

void define_arithmetic(checking::CertificateChecker& checker) {
  using Arguments = std::vector<Terms::Term>;
  using Evidence = std::vector<Equation>;
  checker.define_axiom("constant-folding", [](const Terms& t, Terms::Term l, Terms::Term r) {
    const auto value = folded(t, l);
    return value && value == literal(t, r);
  });
  // That nothing is known cannot be shown; that zero is known can be told.
  checker.define_condition("not-zero", [](const Terms& t, const Arguments& a, const Evidence& e) {
    return !shown(a[0], e, [&](Terms::Term x) { return literal(t, x) == Fraction{0, 1}; });
  });
  checker.define_condition("const", [](const Terms& t, const Arguments& a, const Evidence& e) {
    return shown(a[0], e, [&](Terms::Term x) { return literal(t, x).has_value(); });
  });
  checker.define_condition("sym", [](const Terms& t, const Arguments& a, const Evidence& e) {
    return shown(a[0], e, [&](Terms::Term x) { return is_symbol(t, x); });
  });
  checker.define_condition(
      "const-or-distinct-var", [](const Terms& t, const Arguments& a, const Evidence& e) {
        return a[0] != a[1] &&
               shown(a[0], e, [&](Terms::Term x) { return literal(t, x) || is_symbol(t, x); });
      });
}

std::unique_ptr<ExplanationWorkload> ExplanationWorkload::open(std::string_view name) {
  auto made = std::make_unique<ExplanationWorkload>();
  workloads::Workload workload = *workloads::find_workload(name);
  workload.proofs = true;
  const bool is_lambda = name.starts_with("lambda");
  std::string rules(workload.theory.rules);
  // The checker has that rule from define_lambda().
  if (const auto computed = rules.find("let-lam-diff:"); computed != std::string::npos)
    rules.erase(computed, rules.find('\n', computed) - computed);
  EGRET_CHECK(made->checker_.add_rules(rules).ok(), "trusted rules can be read");
  if (is_lambda) {
    define_lambda(made->checker_);
  } else if (name.starts_with("prop")) {
    define_truth_tables(made->checker_);
  } else {
    define_arithmetic(made->checker_);
  }
  made->session_ = *workloads::Session::open(std::move(workload));
  made->session_->runner().run();
  return made;
}

EqualPairs::EqualPairs(const EGraph& egraph) {
  std::map<ClassId, std::vector<ClassId>> classes;
  for (std::size_t i = 0; i < egraph.id_count(); ++i)
    classes[egraph.find(ClassId(i))].emplace_back(i);
  for (auto& [root, ids] : classes) {
    if (ids.size() < 2) continue;
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    group_of_.resize(ids_.size(), groups_.size());
    groups_.push_back(std::move(ids));
  }
}

std::pair<ClassId, ClassId> EqualPairs::draw(base::Random& random) const {
  const std::size_t at = random.below(ids_.size());
  const auto& group = groups_[group_of_[at]];
  return {ids_[at], group[random.below(group.size())]};
}

std::vector<std::string> term_hashes(const EGraph& egraph) {
  const WordLog& words = egraph.proofs()->term_words();
  Terms terms;
  std::vector<Terms::Term> made;
  std::vector<std::string> hashes;
  for (std::size_t at = 0; at < words.size();) {
    const std::uint32_t head = words[at++];
    const OpId op(head & ~ProofLog::kNoId);
    Terms::Node node{egraph.ops().text(op), {}};
    for (std::size_t i = 0; i < egraph.ops().arity(op); ++i)
      node.children.push_back(made[words[at++]]);
    if ((head & ProofLog::kNoId) != 0) continue;  // no id names it
    made.push_back(terms.make(std::move(node)));
    hashes.push_back(terms.hash(made.back()));
  }
  return hashes;
}

}  // namespace egret::egraph
