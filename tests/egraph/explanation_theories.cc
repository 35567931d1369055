// SPDX-License-Identifier: Apache-2.0
// What the lambda calculus' and the propositional logic's analyses, conditions and builders mean,
// on terms.
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "tests/egraph/explanation_workload.h"

namespace egret::egraph {

using checking::Equation;
using checking::Terms;

namespace {

using Term = Terms::Term;
using Names = std::set<Term>;

bool is(const Terms& terms, Term term, std::string_view op, std::size_t arity) {
  return terms.node(term).op == op && terms.node(term).children.size() == arity;
}

std::optional<std::int32_t> integer(const Terms& terms, Term term) {
  const Terms::Node& node = terms.node(term);
  std::int32_t value = 0;
  const char* const end = node.op.data() + node.op.size();
  const auto read = std::from_chars(node.op.data(), end, value);
  if (!node.children.empty() || read.ec != std::errc() || read.ptr != end) return {};
  return value;
}

bool is_constant(const Terms& terms, Term term) {
  return is(terms, term, "true", 0) || is(terms, term, "false", 0) || integer(terms, term);
}

// (+ 1 2) = 3, (= 1 2) = false.
bool folds_to(const Terms& terms, Term left, Term right) {
  const Terms::Node& node = terms.node(left);
  if (node.children.size() != 2) return false;
  const auto [a, b] = std::pair(node.children[0], node.children[1]);
  if (!is_constant(terms, a) || !is_constant(terms, b)) return false;
  if (node.op == "=") return is(terms, right, a == b ? "true" : "false", 0);
  const auto x = integer(terms, a), y = integer(terms, b), sum = integer(terms, right);
  return node.op == "+" && x && y && sum && std::int64_t{*x} + *y == *sum;
}

class FreeNames {
 public:
  explicit FreeNames(const Terms& terms) : terms_(terms) {}

  // Recursive: terms are as deep as the test's are.
  const Names& of(Term term) {
    if (const auto known = known_.find(term); known != known_.end()) return known->second;
    const Terms::Node& node = terms_.node(term);
    Names names;
    const auto unite = [&](Term child) { names.insert(of(child).begin(), of(child).end()); };
    if (is(terms_, term, "var", 1)) {
      names.insert(node.children[0]);
    } else if (is(terms_, term, "lam", 2) || is(terms_, term, "fix", 2)) {
      unite(node.children[1]);
      names.erase(node.children[0]);
    } else if (is(terms_, term, "let", 3)) {
      unite(node.children[2]);
      names.erase(node.children[0]);
      unite(node.children[1]);
    } else {
      for (const Term child : node.children) unite(child);
    }
    return known_[term] = names;
  }

 private:
  const Terms& terms_;
  std::map<Term, Names> known_;
};

// (let v1 e (lam v2 body)) becomes (lam v2 (let v1 e body)) where e, or what was shown to be equal
// to it, has no free v2; or (lam n (let v1 e (let v2 (var n) body))) with a name n of its own.
bool is_let_under(const Terms& terms, const std::map<std::string, Term>& given,
                  const std::vector<Equation>& evidence, Term made) {
  const Term v1 = given.at("?v1"), e = given.at("?e"), v2 = given.at("?v2"),
             body = given.at("?body");
  if (v1 == v2 || !is(terms, made, "lam", 2)) return false;
  const Term name = terms.node(made).children[0];
  const Term inner = terms.node(made).children[1];
  if (!is(terms, inner, "let", 3)) return false;
  const auto& let = terms.node(inner).children;
  if (let[0] != v1 || let[1] != e) return false;
  FreeNames free(terms);
  if (name == v2) {
    const auto lean = [&](Term term) { return !free.of(term).contains(v2); };
    return let[2] == body && (lean(e) || std::ranges::any_of(evidence, [&](const Equation& shown) {
                                return shown.left == e && lean(shown.right);
                              }));
  }
  if (!terms.node(name).op.starts_with("_") || name == v1) return false;
  if (free.of(e).contains(name) || free.of(body).contains(name)) return false;
  if (!is(terms, let[2], "let", 3)) return false;
  const auto& renaming = terms.node(let[2]).children;
  return renaming[0] == v2 && renaming[2] == body && is(terms, renaming[1], "var", 1) &&
         terms.node(renaming[1]).children[0] == name;
}

std::optional<bool> truth(const Terms& terms, Term term) {
  if (is(terms, term, "true", 0)) return true;
  if (is(terms, term, "false", 0)) return false;
  return {};
}

}  // namespace

void define_lambda(checking::CertificateChecker& checker) {
  using Arguments = std::vector<Term>;
  using Evidence = std::vector<Equation>;
  EGRET_CHECK(checker
                  .add_rules("let-lam-diff: (let ?v1 ?e (lam ?v2 ?body)) => "
                             "!let-under:?let:?v1:?e:?v2:?body if distinct(?v1, ?v2)")
                  .ok());
  checker.define_axiom("lambda-folding", folds_to);
  checker.define_condition("const", [](const Terms& t, const Arguments& a, const Evidence& e) {
    return is_constant(t, a[0]) || std::ranges::any_of(e, [&](const Equation& shown) {
             return shown.left == a[0] && is_constant(t, shown.right);
           });
  });
  // Names are leaves, and no rule makes two of them equal.
  checker.define_condition("distinct", [](const Terms& t, const Arguments& a, const Evidence&) {
    return a[0] != a[1] && t.node(a[0]).children.empty() && t.node(a[1]).children.empty();
  });
  checker.define_condition(
      "equal-under", [](const Terms& t, const Arguments& a, const Evidence& e) {
        const auto is_let = [&](Term term, Term body) {
          return is(t, term, "let", 3) && t.node(term).children == Arguments{a[0], a[1], body};
        };
        return a[2] == a[3] || std::ranges::any_of(e, [&](const Equation& shown) {
                 return is_let(shown.left, a[2]) && is_let(shown.right, a[3]);
               });
      });
  checker.define_computed("let-under:?let:?v1:?e:?v2:?body",
                          [](const Terms& t, const auto& given, const auto&, Term made,
                             const Evidence& e) { return is_let_under(t, given, e, made); });
}

void define_truth_tables(checking::CertificateChecker& checker) {
  checker.define_axiom("given", [](const Terms& t, Term, Term r) { return truth(t, r) == true; });
  checker.define_axiom("truth-tables", [](const Terms& t, Term l, Term r) {
    const Terms::Node& node = t.node(l);
    std::vector<bool> values;
    for (const Term child : node.children) {
      const auto value = truth(t, child);
      if (!value) return false;
      values.push_back(*value);
    }
    if (node.op == "~" && values.size() == 1) return truth(t, r) == !values[0];
    if (values.size() != 2) return false;
    if (node.op == "&") return truth(t, r) == (values[0] && values[1]);
    if (node.op == "|") return truth(t, r) == (values[0] || values[1]);
    return node.op == "->" && truth(t, r) == (!values[0] || values[1]);
  });
}

}  // namespace egret::egraph
