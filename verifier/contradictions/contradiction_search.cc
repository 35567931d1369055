// SPDX-License-Identifier: Apache-2.0
#include "verifier/contradictions/contradiction_search.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "verifier/contradictions/linear_program.h"

namespace egret::verifier {
namespace {

using Kind = ContradictionProof::Kind;
using Op = Query::Op;
using Relation = QueryFact::Relation;
using Step = ContradictionProof::Step;
using Summand = ContradictionProof::Summand;

using boost::multiprecision::cpp_int;

// A fact and its place in a sum.
struct NamedFact {
  QueryFact fact;
  Summand summand;
};

std::vector<QueryFact> facts_of(const std::vector<NamedFact>& named) {
  std::vector<QueryFact> facts;
  for (const NamedFact& one : named) facts.push_back(one.fact);
  return facts;
}

std::vector<Summand> sum_of(const std::vector<NamedFact>& named, const FarkasFactors& factors) {
  std::vector<Summand> sum;
  for (std::size_t i = 0; i < named.size(); ++i) {
    if (factors[i] == 0) continue;
    sum.push_back(named[i].summand);
    sum.back().factor = factors[i];
  }
  return sum;
}

ExactRational value_at(const LinearPoint& point, const QueryPolynomial& polynomial) {
  ExactRational value = 0;
  for (const auto& [product, coefficient] : polynomial) {
    if (product.empty()) {
      value += coefficient;
    } else if (const auto found = point.find(product); found != point.end()) {
      value += coefficient * found->second;
    }
  }
  return value;
}

bool holds_at(const LinearPoint& point, const QueryFact& fact) {
  const ExactRational value = value_at(point, fact.value);
  switch (fact.relation) {
    case Relation::kNonNegative: return value >= 0;
    case Relation::kPositive: return value > 0;
    case Relation::kZero: return value == 0;
  }
  return false;
}

class Search {
 public:
  Search(const Query& query, const ContradictionLimits& limits)
      : limits_(limits), query_(query), atoms_(query) {}

  std::optional<ContradictionProof> run(std::vector<std::uint32_t> assertions) {
    if (assertions.empty()) {
      assertions.resize(query_.assertions().size());
      std::iota(assertions.begin(), assertions.end(), 0U);
    }
    QueryCase all(atoms_);
    for (const std::uint32_t assertion : assertions) {
      if (assertion >= query_.assertions().size()) return std::nullopt;
      all.assume(query_.assertions()[assertion], true);
    }
    proof_.assertions = std::move(assertions);
    const auto root = refute(all, 0);
    if (!root) return std::nullopt;
    keep_tree(*root);
    return std::move(proof_);
  }

 private:
  std::size_t append(Step step) {
    proof_.steps.push_back(std::move(step));
    return proof_.steps.size() - 1;
  }

  // The facts of a case: those assumed and those of comparisons. Choices on which a comparison
  // depends are put into `open` if they are not known.
  std::vector<NamedFact> facts(const QueryCase& one, std::vector<std::uint32_t>& open) const {
    std::vector<NamedFact> all;
    for (std::size_t i = 0; i < one.assumed_facts(); ++i) {
      const std::int64_t name = -1 - static_cast<std::int64_t>(i);
      all.push_back({*one.fact(name), {.facts = {name}}});
    }
    for (std::uint32_t node = 0; node < query_.nodes().size(); ++node) {
      if (!atoms_.is_comparison(node) || atoms_.name(node).node != node || one.truth(node) == 0)
        continue;
      for (const std::uint32_t choice : atoms_.choices(node)) {
        if (one.truth(choice) == 0) open.push_back(choice);
      }
      if (auto fact = one.fact(node)) all.push_back({*std::move(fact), {.facts = {node}}});
    }
    return all;
  }

  std::optional<std::size_t> refute(QueryCase one, std::size_t depth) {
    one.conclude();
    if (one.is_contradictory()) return append({});
    if (depth >= kMostCasesDeep || cases_ >= limits_.cases) return std::nullopt;
    std::vector<std::uint32_t> open;
    std::vector<NamedFact> known = facts(one, open);
    if (known.size() > limits_.facts) return std::nullopt;
    ++cases_;
    const auto solved = solve_linear(facts_of(known));
    if (!solved) return std::nullopt;
    if (const auto* factors = std::get_if<FarkasFactors>(&*solved))
      return append({.kind = Kind::kSum, .sum = sum_of(known, *factors)});
    if (!open.empty()) return split(one, open.front(), true, depth);
    const LinearPoint& point = std::get<LinearPoint>(*solved);
    if (const auto next = branch(one, point, depth)) return *next;
    if (query_.logic() == "QF_LIA") return std::nullopt;
    return refute_by_products(one, std::move(known), depth);
  }

  // The outer result is nullopt if the point is one of the case, as far as it goes.
  std::optional<std::optional<std::size_t>> branch(const QueryCase& one, const LinearPoint& point,
                                                   std::size_t depth) {
    if (const auto formula = violated(one, point))
      return split(one, *formula, !would_hold(one, point, *formula), depth);
    if (const auto equation = not_apart(one, point)) return apart(one, *equation, depth);
    if (query_.sort() == Query::Sort::kInteger) {
      for (const auto& [product, value] : point) {
        if (denominator(value) != 1) return bounded(one, product, value, depth);
      }
    }
    return std::nullopt;
  }

  // The first case is the one that ends soonest, if any.
  std::optional<std::size_t> split(const QueryCase& one, std::uint32_t node, bool first,
                                   std::size_t depth) {
    QueryCase cases[2] = {one, one};
    cases[0].assume(node, true);
    cases[1].assume(node, false);
    return distinguish(one, {.kind = Kind::kTruth, .node = node}, cases, first ? 0 : 1, depth);
  }

  std::optional<std::size_t> apart(const QueryCase& one, std::uint32_t node, std::size_t depth) {
    auto up = atoms_.difference(one.truths(), node);
    if (!up) return std::nullopt;
    const bool whole = query_.sort() == Query::Sort::kInteger;
    QueryPolynomial down;
    add_to(down, *up, -1);
    if (whole) {
      add_to(*up, {{{}, 1}}, -1);
      add_to(down, {{{}, 1}}, -1);
    }
    const Relation relation = whole ? Relation::kNonNegative : Relation::kPositive;
    QueryCase cases[2] = {one, one};
    cases[0].assume({*up, relation});
    cases[1].assume({std::move(down), relation});
    return distinguish(one, {.kind = Kind::kApart, .node = node}, cases, 0, depth);
  }

  std::optional<std::size_t> bounded(const QueryCase& one, const QueryProduct& product,
                                     const ExactRational& value, std::size_t depth) {
    cpp_int floor = numerator(value) / denominator(value);
    if (value < 0) floor -= 1;
    if (abs(floor) > (std::int64_t{1} << 40)) return std::nullopt;
    const auto bound = static_cast<std::int64_t>(floor);
    QueryCase cases[2] = {one, one};
    QueryPolynomial below{{product, -1}};
    add_to(below, {{{}, 1}}, bound);
    QueryPolynomial above{{product, 1}};
    add_to(above, {{{}, 1}}, -bound - 1);
    cases[0].assume({std::move(below), Relation::kNonNegative});
    cases[1].assume({std::move(above), Relation::kNonNegative});
    return distinguish(one, {.kind = Kind::kBound, .value = {{product, 1}}, .bound = bound}, cases,
                       0, depth);
  }

  // A proof of one case that holds without its assumption is one of the whole.
  std::optional<std::size_t> distinguish(const QueryCase& one, Step step, QueryCase (&cases)[2],
                                         int first, std::size_t depth) {
    const auto begun = refute(std::move(cases[first]), depth + 1);
    if (!begun) return std::nullopt;
    if (is_contradictory(one, proof_, *begun)) return begun;
    const auto ended = refute(std::move(cases[1 - first]), depth + 1);
    if (!ended) return std::nullopt;
    if (is_contradictory(one, proof_, *ended)) return ended;
    step.first = first == 0 ? *begun : *ended;
    step.second = first == 0 ? *ended : *begun;
    return append(std::move(step));
  }

  bool would_hold(const QueryCase& one, const LinearPoint& point, std::uint32_t comparison) const {
    const auto fact = atoms_.fact(one.truths(), comparison, true);
    return fact && holds_at(point, *fact);
  }

  // An open comparison of an assumed formula that does not hold at the point: of the formula with
  // the fewest of them, one that the facts decide if there is one.
  std::optional<std::uint32_t> violated(const QueryCase& one, const LinearPoint& point) const {
    std::vector<int> at(query_.nodes().size(), 0);
    std::vector<std::set<std::uint32_t>> open(query_.nodes().size());
    std::optional<std::uint32_t> best;
    for (std::uint32_t node = 0; node < at.size(); ++node) {
      const Query::Node& made = query_.nodes()[node];
      if (!atoms_.is_formula(node)) continue;
      if (made.op == Op::kTruth || made.op == Op::kNot) {
        at[node] =
            made.op == Op::kTruth ? (query_.text(made) == "true" ? 1 : -1) : -at[made.arguments[0]];
        if (made.op == Op::kNot) open[node] = open[made.arguments[0]];
        continue;
      }
      const int known = one.truth(node);
      if (atoms_.is_comparison(node)) {
        at[node] = known != 0 ? known : would_hold(one, point, node) ? 1 : -1;
        if (known == 0) open[node].insert(atoms_.name(node).node);
        continue;
      }
      const bool is_and = made.op == Op::kAnd;
      bool any = false;
      for (std::size_t i = 0; i < made.arguments.size(); ++i) {
        const int wanted = is_and || (made.op == Op::kImplies && i == 0) ? -1 : 1;
        any = any || at[made.arguments[i]] == wanted;
        if (one.truth(made.arguments[i]) == 0)
          open[node].insert(open[made.arguments[i]].begin(), open[made.arguments[i]].end());
      }
      at[node] = any != is_and ? 1 : -1;
      if (known == 0 || at[node] == known || open[node].empty()) {
        if (known != 0) at[node] = known;
        continue;
      }
      at[node] = known;
      if (!best || open[node].size() < open[*best].size()) best = node;
    }
    if (!best) return std::nullopt;
    return decided(one, point, open[*best]);
  }

  std::uint32_t decided(const QueryCase& one, const LinearPoint& point,
                        const std::set<std::uint32_t>& open) const {
    if (open.size() == 1) return *open.begin();
    for (const std::uint32_t node : open) {
      QueryCase other = one;
      other.assume(node, !would_hold(one, point, node));
      other.conclude();
      if (other.is_contradictory()) return node;
      std::vector<std::uint32_t> choices;
      const auto solved = solve_linear(facts_of(facts(other, choices)));
      if (solved && std::holds_alternative<FarkasFactors>(*solved)) return node;
    }
    return *open.begin();
  }

  // An equation that does not hold, but does at the point.
  std::optional<std::uint32_t> not_apart(const QueryCase& one, const LinearPoint& point) const {
    for (std::uint32_t node = 0; node < query_.nodes().size(); ++node) {
      if (query_.nodes()[node].op != Op::kEqual || atoms_.name(node).node != node ||
          one.truth(node) >= 0)
        continue;
      const auto difference = atoms_.difference(one.truths(), node);
      if (difference && value_at(point, *difference) == 0) return node;
    }
    return std::nullopt;
  }

  std::optional<std::size_t> refute_by_products(const QueryCase& one, std::vector<NamedFact> known,
                                                std::size_t depth) {
    add_products(known);
    ++cases_;
    const auto solved = solve_linear(facts_of(known));
    if (!solved) return std::nullopt;
    if (const auto* factors = std::get_if<FarkasFactors>(&*solved))
      return append({.kind = Kind::kSum, .sum = sum_of(known, *factors)});
    const auto next = branch(one, std::get<LinearPoint>(*solved), depth);
    return next ? *next : std::nullopt;
  }

  // Products of two facts, and of equations with unknowns; those first that have no new products of
  // unknowns.
  void add_products(std::vector<NamedFact>& known) const {
    std::set<QueryProduct> seen;
    std::set<std::uint32_t> unknowns;
    for (const NamedFact& one : known) {
      for (const auto& [product, coefficient] : one.fact.value) {
        seen.insert(product);
        unknowns.insert(product.begin(), product.end());
      }
    }
    std::vector<std::pair<std::size_t, NamedFact>> made;  // by the number of new products
    const auto add = [&](NamedFact one) {
      std::size_t fresh = 0;
      for (const auto& [product, coefficient] : one.fact.value)
        fresh += seen.contains(product) ? 0 : 1;
      if (!one.fact.value.empty()) made.emplace_back(fresh, std::move(one));
    };
    for (std::size_t i = 0; i < known.size(); ++i) {
      const NamedFact& a = known[i];
      if (a.fact.relation == Relation::kZero) {
        for (const std::uint32_t unknown : unknowns) {
          NamedFact one;
          const QueryPolynomial factor{{QueryProduct{unknown}, ExactRational(1)}};
          one.fact.value = product_of(a.fact.value, factor);
          one.fact.relation = Relation::kZero;
          one.summand = a.summand;
          one.summand.unknowns = {unknown};
          add(std::move(one));
        }
        continue;
      }
      for (std::size_t j = 0; j <= i; ++j) {
        const NamedFact& b = known[j];
        if (b.fact.relation == Relation::kZero) continue;
        const bool positive =
            a.fact.relation == Relation::kPositive && b.fact.relation == Relation::kPositive;
        NamedFact one;
        one.fact.value = product_of(a.fact.value, b.fact.value);
        one.fact.relation = positive ? Relation::kPositive : Relation::kNonNegative;
        one.summand.facts = {a.summand.facts[0], b.summand.facts[0]};
        add(std::move(one));
      }
    }
    std::ranges::stable_sort(made, {}, [](const auto& one) { return one.first; });
    for (std::size_t i = 0; i < std::min(made.size(), limits_.products); ++i)
      known.push_back(std::move(made[i].second));
  }

  // Only the steps of the tree, in order.
  void keep_tree(std::size_t root) {
    std::vector<std::size_t> order{root};
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Step& step = proof_.steps[order[i]];
      if (step.kind == Kind::kConflict || step.kind == Kind::kSum) continue;
      order.push_back(step.first);
      order.push_back(step.second);
    }
    std::ranges::sort(order);
    std::vector<Step> kept;
    std::map<std::size_t, std::size_t> place;
    for (const std::size_t at : order) {
      place[at] = kept.size();
      Step step = std::move(proof_.steps[at]);
      if (step.kind != Kind::kConflict && step.kind != Kind::kSum) {
        step.first = place.at(step.first);
        step.second = place.at(step.second);
      }
      kept.push_back(std::move(step));
    }
    proof_.steps = std::move(kept);
  }

  const ContradictionLimits limits_;
  const Query& query_;
  const QueryAtoms atoms_;
  std::size_t cases_ = 0;
  ContradictionProof proof_;
};

}  // namespace

std::optional<ContradictionProof> find_contradiction(const Query& query,
                                                     std::vector<std::uint32_t> assertions,
                                                     const ContradictionLimits& limits) {
  auto proof = Search(query, limits).run(std::move(assertions));
  if (!proof || !is_contradictory(query, *proof)) return std::nullopt;
  return proof;
}

}  // namespace egret::verifier
