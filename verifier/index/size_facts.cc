// SPDX-License-Identifier: Apache-2.0
#include "verifier/index/size_facts.h"

#include <algorithm>

#include "base/formats/units.h"
#include "ir/graph/graph_text.h"

namespace egret::verifier {

using ir::ExprNode;
using ir::ExprOp;

namespace {

constexpr std::size_t kMostCases = 64;

// What a guard says that is no comparison of sizes.
struct NoComparison {};

// What comes before the mark, which is taken off the text together with it.
std::string_view first_part(std::string_view& text, char mark) {
  const std::size_t end = std::min(text.find(mark), text.size());
  const std::string_view first = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return first;
}

}  // namespace

void SizeFacts::assume(ir::Guard guard) {
  if (!guard.is_true() && !is_assumed(guard)) assumptions_.push_back(guard);
}

bool SizeFacts::is_assumed(ir::Guard guard) const {
  return std::ranges::any_of(assumptions_, [&](const ir::Guard& one) {
    return one.node() == guard.node() && one.is_true() == guard.is_true();
  });
}

SizeRange SizeFacts::range(const Atom& symbol) const {
  const auto found = ranges_.find(symbol.name);
  return found != ranges_.end() ? found->second : SizeRange();
}

Polynomial SizeFacts::value(ir::Index index) {
  return index.is_constant() ? Polynomial(index.constant()) : value(*index.node());
}

// Recursion is as deep as a short expression (ir/core/expression_extent.h).
Polynomial SizeFacts::value(const ExprNode& node) {
  if (const auto known = values_.find(&node); known != values_.end()) return known->second;
  const auto kid = [&](std::size_t i) { return value(*node.kids[i]); };
  const auto make = [&]() -> Polynomial {
    switch (node.op) {
      case ExprOp::kIndexConst: return node.integer;
      case ExprOp::kSymbol: return Polynomial(atoms_.symbol(std::string(node.name)));
      case ExprOp::kIndexAdd: return kid(0) + kid(1);
      case ExprOp::kIndexMul: return kid(0) * kid(1);
      case ExprOp::kIndexDiv: return atoms_.quotient(kid(0), divisor(node));
      case ExprOp::kIndexMod: return atoms_.remainder(kid(0), divisor(node));
      case ExprOp::kIndexMin: return atoms_.minimum(kid(0), kid(1));
      case ExprOp::kIndexMax: return atoms_.maximum(kid(0), kid(1));
      default: throw NoComparison();
    }
  };
  return values_.emplace(&node, make()).first->second;
}

// Bounds of a quotient say something of its divisor, too: that it is at least 1.
Polynomial SizeFacts::divisor(const ExprNode& node) {
  Polynomial result = value(*node.kids[1]);
  if (!is_positive(result, 1)) throw NoComparison();
  return result;
}

// The cases in which the guard has that truth, each as what it says. Recursion as above.
std::vector<SizeFacts::Case> SizeFacts::alternatives(const ExprNode& node, bool truth) {
  const auto kid = [&](std::size_t i) { return alternatives(*node.kids[i], truth); };
  switch (node.op) {
    case ExprOp::kGuardConst:
      return (node.integer != 0) == truth ? std::vector<Case>{{}} : std::vector<Case>{};
    case ExprOp::kNot: return alternatives(*node.kids[0], !truth);
    case ExprOp::kIndexLe: {
      const Polynomial difference = value(*node.kids[1]) - value(*node.kids[0]);
      return {{truth ? difference : -difference - 1}};
    }
    case ExprOp::kIndexEq: {
      const Polynomial difference = value(*node.kids[1]) - value(*node.kids[0]);
      if (truth) return {{difference, -difference}};
      return {{difference - 1}, {-difference - 1}};
    }
    case ExprOp::kAnd:
    case ExprOp::kOr: {
      std::vector<Case> first = kid(0);
      const std::vector<Case> second = kid(1);
      if ((node.op == ExprOp::kOr) == truth) {
        first.insert(first.end(), second.begin(), second.end());
        return first;
      }
      if (first.size() * second.size() > kMostCases) throw NoComparison();
      std::vector<Case> both;
      for (const Case& a : first) {
        for (const Case& b : second) {
          both.push_back(a);
          both.back().insert(both.back().end(), b.begin(), b.end());
        }
      }
      return both;
    }
    default: throw NoComparison();
  }
}

void SizeFacts::add_bounds(Case& facts) {
  AtomSet atoms;
  for (const Polynomial& fact : facts) atoms_.collect(fact, atoms);
  for (const AtomId id : atoms) {
    const Atom atom = atoms_[id];
    const Polynomial self(id);
    switch (atom.kind) {
      case AtomKind::kSymbol:
        facts.push_back(self - range(atom).least);
        facts.push_back(Polynomial(range(atom).most) - self);
        break;
      case AtomKind::kQuotient:
        facts.push_back(atom.a - atom.b * self);
        facts.push_back(atom.b * self + atom.b - 1 - atom.a);
        break;
      case AtomKind::kMinimum:
        facts.push_back(atom.a - self);
        facts.push_back(atom.b - self);
        break;
      case AtomKind::kMaximum:
        facts.push_back(self - atom.a);
        facts.push_back(self - atom.b);
        break;
      case AtomKind::kVariable:
      case AtomKind::kElement: break;
    }
  }
}

// An assumption that leaves a choice, is too long, or says something else than a comparison of
// sizes is left out: less is known.
SizeFacts::Case SizeFacts::assumed_facts() {
  Case facts;
  for (const ir::Guard& assumption : assumptions_) {
    if (assumption.is_constant() || !meter_.is_short(assumption.node())) continue;
    try {
      const std::vector<Case> says = alternatives(*assumption.node(), true);
      if (says.size() == 1) facts.insert(facts.end(), says[0].begin(), says[0].end());
    } catch (const NoComparison&) {
    } catch (const PolynomialOverflow&) {
    }
  }
  return facts;
}

std::optional<std::vector<SizeFacts::Case>> SizeFacts::cases(ir::Guard guard) {
  if (guard.is_constant()) return guard.is_true() ? std::vector<Case>{{}} : std::vector<Case>{};
  if (!meter_.is_short(guard.node())) return std::nullopt;
  try {
    std::vector<Case> all = alternatives(*guard.node(), true);
    const Case assumed = assumed_facts();
    for (Case& one : all) {
      one.insert(one.end(), assumed.begin(), assumed.end());
      add_bounds(one);
    }
    return all;
  } catch (const NoComparison&) {
  } catch (const PolynomialOverflow&) {
  }
  return std::nullopt;
}

bool SizeFacts::is_nonnegative(AtomId id) {
  if (const auto known = nonnegative_.find(id); known != nonnegative_.end()) return known->second;
  const Atom atom = atoms_[id];
  const auto make = [&] {
    switch (atom.kind) {
      case AtomKind::kSymbol: return range(atom).least >= 0;
      case AtomKind::kQuotient: return is_nonnegative(atom.a);
      case AtomKind::kMinimum: return is_nonnegative(atom.a) && is_nonnegative(atom.b);
      case AtomKind::kMaximum: return is_nonnegative(atom.a) || is_nonnegative(atom.b);
      case AtomKind::kVariable:
      case AtomKind::kElement: break;
    }
    return false;
  };
  return nonnegative_[id] = make();
}

Polynomial SizeFacts::raised(const Polynomial& polynomial) {
  Polynomial result;
  for (const auto& [monomial, coefficient] : polynomial.terms()) {
    Polynomial term(coefficient);
    for (const AtomId id : monomial) {
      const bool is_symbol = atoms_[id].kind == AtomKind::kSymbol;
      const std::int64_t least = is_symbol ? range(atoms_[id]).least : 0;
      term = term * (Polynomial(id) + std::max<std::int64_t>(least, 0));
    }
    result = result + term;
  }
  return result;
}

bool SizeFacts::is_positive(const Polynomial& polynomial, std::int64_t least) {
  const Polynomial all = raised(polynomial);
  return all.constant() >= least && std::ranges::all_of(all.terms(), [&](const auto& term) {
           return term.first.empty() ||
                  (term.second > 0 && std::ranges::all_of(term.first, [&](AtomId atom) {
                     return is_nonnegative(atom);
                   }));
         });
}

bool SizeFacts::is_refuted(const Case& facts, std::string_view sum) {
  if (std::ranges::any_of(facts, [&](const Polynomial& fact) { return is_negative(fact); }))
    return true;
  Polynomial total;
  while (!sum.empty()) {
    const std::string_view summand = first_part(sum, ';');
    const std::size_t colon = std::min(summand.find(':'), summand.size() - 1);
    const auto fact = base::parse_integer(summand.substr(0, colon));
    const std::string factor = "i64[" + std::string(summand.substr(colon + 1)) + "]";
    const auto sizes = ir::parse_type(factor);
    if (!fact.ok() || *fact < 0 || *fact >= std::ssize(facts) || !sizes.ok() ||
        sizes->rank() != 1 || !meter_.is_short(sizes->dims[0]))
      return false;
    const Polynomial times = value(sizes->dims[0]);
    if (!is_nonnegative(times)) return false;
    total = total + times * facts[static_cast<std::size_t>(*fact)];
  }
  return is_negative(total);
}

bool SizeFacts::contradictory(ir::Guard guard, std::string_view proof) {
  const auto all = cases(guard);
  if (!all) return false;
  try {
    return std::ranges::all_of(
        *all, [&](const Case& one) { return is_refuted(one, first_part(proof, '|')); });
  } catch (const NoComparison&) {
  } catch (const PolynomialOverflow&) {
  }
  return false;
}

}  // namespace egret::verifier
