// SPDX-License-Identifier: Apache-2.0
#include "egraph/search/inverse_rules.h"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "base/check.h"

namespace egret::egraph {
namespace {

// The variables of a term's nodes and leaves in preorder, children from left to right.
using Preorder = std::vector<VarId>;

// The preorder of the term at `root`. children(var) gives a node's children, and nothing for a
// leaf. Empty if a variable occurs twice, that is, if the term is not linear.
template <typename Children>
std::optional<Preorder> preorder(VarId root, std::size_t vars, Children children) {
  Preorder order;
  std::vector<bool> met(vars);
  std::vector<VarId> stack = {root};
  while (!stack.empty()) {
    const VarId var = stack.back();
    stack.pop_back();
    if (met[var.index()]) return {};
    met[var.index()] = true;
    order.push_back(var);
    const std::span<const VarId> kids = children(var);
    stack.insert(stack.end(), kids.rbegin(), kids.rend());
  }
  return order;
}

const Pattern::Atom* atom_of(const Pattern& pattern, VarId var) {
  const auto atoms = pattern.atoms();
  const auto atom = std::ranges::find(atoms, var, &Pattern::Atom::result);
  return atom == atoms.end() ? nullptr : &*atom;
}

// The preorder of the whole pattern, if it is one linear term with root `root`.
std::optional<Preorder> term_order(const Pattern& pattern, VarId root) {
  auto order = preorder(root, pattern.var_count(), [&](VarId var) -> std::span<const VarId> {
    const Pattern::Atom* const atom = atom_of(pattern, var);
    if (atom == nullptr) return {};
    return atom->children;
  });
  // All variables were visited, and no class has two atoms.
  if (!order || order->size() != pattern.var_count()) return {};
  const auto is_node = [&](VarId var) { return atom_of(pattern, var) != nullptr; };
  const auto nodes = static_cast<std::size_t>(std::ranges::count_if(*order, is_node));
  return nodes == pattern.atoms().size() ? order : std::nullopt;
}

// A rule as two words. Two rules have equal words iff they are equal up to variable names.
class TermRule {
 public:
  using Word = std::vector<std::uint32_t>;

  // Accepts only a rule of two linear terms over the same variables. Linearity makes matches
  // countable (see count_matches()), and equal variables make the exchange of the two sides a rule
  // again.
  static std::optional<TermRule> of(const Rewrite& rule) {
    const Pattern& pattern = rule.pattern();
    const std::size_t matched = pattern.var_count();
    if (!rule.is_plain() || pattern.op_var_count() > 0 || rule.equations().size() != 1) return {};
    auto [left, right] = rule.equations()[0];
    if (right.index() < matched) std::swap(left, right);
    if (left.index() >= matched || right.index() < matched) return {};
    TermRule made(rule);
    auto order = term_order(pattern, left);
    if (!order || atom_of(pattern, left) == nullptr) return {};
    made.left_ = *std::move(order);
    order = preorder(right, matched + rule.steps().size(),
                     [&](VarId var) { return made.built_children(var); });
    if (!order) return {};
    made.right_ = *std::move(order);
    // The right side uses each step once and each variable once, and no class of an inner node of
    // the left side.
    const auto is_leaf = [&](VarId var) {
      return var.index() < matched && atom_of(pattern, var) == nullptr;
    };
    const auto is_step = [&](VarId var) { return var.index() >= matched; };
    const auto count = [](const Preorder& terms, auto is) {
      return static_cast<std::size_t>(std::ranges::count_if(terms, is));
    };
    const bool same_leaves = count(made.left_, is_leaf) == count(made.right_, is_leaf);
    const bool all_steps = count(made.right_, is_step) == rule.steps().size();
    const bool nothing_else =
        count(made.right_, is_leaf) + rule.steps().size() == made.right_.size();
    return same_leaves && all_steps && nothing_else ? std::optional(made) : std::nullopt;
  }

  // The inverse of a rule has the other's words exchanged: rule r inverts s iff forward(r) is
  // backward(s). One map lookup finds it.
  Word forward() const { return word(left_, right_); }
  Word backward() const { return word(right_, left_); }

 private:
  explicit TermRule(const Rewrite& rule) : rule_(&rule) {}

  std::span<const VarId> built_children(VarId var) const {
    const std::size_t matched = rule_->pattern().var_count();
    if (var.index() < matched) return {};
    return rule_->steps()[var.index() - matched].children;
  }
  // The operator of a node; invalid for a leaf.
  OpId op(VarId var) const {
    const std::size_t matched = rule_->pattern().var_count();
    if (var.index() >= matched) return std::get<OpId>(rule_->steps()[var.index() - matched].make);
    const Pattern::Atom* const atom = atom_of(rule_->pattern(), var);
    return atom == nullptr ? OpId() : atom->op;
  }
  // Both terms in prefix notation, with variables numbered by first occurrence (even: operators,
  // odd: variables).
  Word word(const Preorder& first, const Preorder& second) const {
    Word made;
    std::map<VarId, std::uint32_t> numbers;
    for (const Preorder* const term : {&first, &second}) {
      for (const VarId var : *term) {
        const OpId node = op(var);
        const auto next = static_cast<std::uint32_t>(numbers.size());
        made.push_back(node.valid() ? 2 * node.index()
                                    : 2 * numbers.try_emplace(var, next).first->second + 1);
      }
    }
    return made;
  }

  const Rewrite* rule_;
  Preorder left_;
  Preorder right_;
};

}  // namespace

std::vector<std::uint32_t> inverse_rules(std::span<const Rewrite> rules) {
  std::vector<std::optional<TermRule>> terms;
  std::map<TermRule::Word, std::uint32_t> first;
  for (std::uint32_t i = 0; i < rules.size(); ++i) {
    terms.push_back(TermRule::of(rules[i]));
    if (terms.back()) first.try_emplace(terms.back()->forward(), i);
  }
  std::vector<std::uint32_t> inverse_of;
  for (std::uint32_t i = 0; i < rules.size(); ++i) {
    const auto found = terms[i] ? first.find(terms[i]->backward()) : first.end();
    inverse_of.push_back(found == first.end() ? i : found->second);
  }
  return inverse_of;
}

// Counts by dynamic programming, without enumerating. In a linear pattern the subterms below a node
// share no variable, so their choices are independent: a node's matches are the product of its
// children's counts, and a class's matches are the sum over its nodes. O(nodes of the pattern's
// operators), although the number of matches may be exponential in the pattern's size. Gives
// nothing if the count exceeds 64 bits.
std::optional<std::uint64_t> count_matches(const EGraph& egraph, const Pattern& pattern) {
  const auto atoms = pattern.atoms();
  std::optional<Preorder> order;
  for (const Pattern::Atom& atom : atoms) {
    if (!order) order = term_order(pattern, atom.result);
  }
  EGRET_CHECK(order.has_value(), "the pattern is one linear term");
  // counts[var][class]: the number of matches of the subterm at `var` in that class. Filled from
  // the leaves up: the reverse of the preorder visits children first.
  std::vector<std::vector<std::uint64_t>> counts(pattern.var_count());
  std::uint64_t all = 0;
  for (auto var = order->rbegin(); var != order->rend(); ++var) {
    const Pattern::Atom* const atom = atom_of(pattern, *var);
    if (atom == nullptr) continue;
    const bool is_top = *var == order->front();
    auto& of_class = counts[var->index()];
    if (!is_top) of_class.resize(egraph.id_count());
    for (const NodeId node : egraph.nodes_with(atom->op)) {
      std::uint64_t matches = 1;
      bool overflows = false;
      for (std::size_t i = 0; i < atom->children.size(); ++i) {
        const auto& of_child = counts[atom->children[i].index()];
        if (of_child.empty()) continue;  // a variable
        overflows |=
            __builtin_mul_overflow(matches, of_child[egraph.children(node)[i].index()], &matches);
      }
      std::uint64_t& sum = is_top ? all : of_class[egraph.class_of(node).index()];
      overflows |= __builtin_add_overflow(sum, matches, &sum);
      if (overflows) return {};
    }
  }
  return all;
}

}  // namespace egret::egraph
