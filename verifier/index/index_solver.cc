// SPDX-License-Identifier: Apache-2.0
#include "verifier/index/index_solver.h"

#include <algorithm>

#include "verifier/index/small_certificate.h"
#include "verifier/solver/query.h"

namespace egret::verifier {

using Relation = Literal::Relation;

namespace {

// Atoms whose own lower bound in the facts is at least `least`.
std::set<AtomId> atoms_at_least(std::int64_t least, const Facts& facts) {
  std::set<AtomId> result;
  for (const Literal& fact : facts) {
    if (fact.relation != Relation::kNonNegative) continue;
    const AtomId atom = (fact.polynomial - fact.polynomial.constant()).as_atom();
    if (atom.valid() && -fact.polynomial.constant() >= least) result.insert(atom);
  }
  return result;
}

// Whether the polynomial is a sum of products of atoms >= 0 with positive coefficients, one of
// which is a product of atoms >= 1.
bool is_positive(const Polynomial& polynomial, const std::set<AtomId>& positive,
                 const std::set<AtomId>& not_negative) {
  bool some = false;
  for (const auto& [monomial, coefficient] : polynomial.terms()) {
    const auto are_in = [&monomial = monomial](const std::set<AtomId>& atoms) {
      return std::ranges::all_of(monomial, [&](AtomId atom) { return atoms.contains(atom); });
    };
    if (coefficient <= 0 || !are_in(not_negative)) return false;
    some = some || are_in(positive);
  }
  return some;
}

std::set<Monomial> monomials_of(const Facts& facts) {
  std::set<Monomial> result;
  for (const Literal& fact : facts) {
    for (const auto& [monomial, coefficient] : fact.polynomial.terms()) result.insert(monomial);
  }
  return result;
}

// Products of facts with non-negative atoms that lead to a monomial of the facts or of `also`; at
// most kMost. Linear arithmetic treats each product as an unknown and does not know how they
// relate. Multiplying a fact p >= 0 by an atom >= 0 gives facts about products. Only products that
// occur are made, because each further one would be a new unknown.
Facts useful_products(const Facts& facts, const std::set<Monomial>& also) {
  constexpr std::size_t kMost = 300;
  const std::set<AtomId> not_negative = atoms_at_least(0, facts);
  const std::set<AtomId> positive = atoms_at_least(1, facts);
  std::set<Monomial> wanted = monomials_of(facts);
  wanted.insert(also.begin(), also.end());
  std::set<std::pair<Literal, Monomial>> tried;
  Facts products;
  for (const Literal& fact : facts) {
    if (fact.relation == Relation::kNonZero) continue;
    for (const auto& [monomial, coefficient] : fact.polynomial.terms()) {
      if (monomial.empty()) continue;
      for (const Monomial& product : wanted) {
        if (product.size() <= monomial.size() || !std::ranges::includes(product, monomial))
          continue;
        Monomial factor;
        std::ranges::set_difference(product, monomial, std::back_inserter(factor));
        const bool allowed =
            std::ranges::all_of(factor, [&](AtomId atom) { return not_negative.contains(atom); });
        if (!allowed || !tried.emplace(fact, factor).second) continue;
        // For a single factor m >= 1, multiplies by m - 1 >= 0, which gives the stronger fact.
        Polynomial times(1);
        for (const AtomId atom : factor) times = times * Polynomial(atom);
        if (factor.size() == 1 && positive.contains(factor.front())) times = times - 1;
        products.push_back({fact.polynomial * times, fact.relation});
        if (products.size() == kMost) return products;
      }
    }
  }
  return products;
}

// The integer c >= 2 with a = c * b, if there is one.
std::optional<std::int64_t> multiple_of(const Polynomial& a, const Polynomial& b) {
  if (a.terms().empty() || a.terms().size() != b.terms().size()) return std::nullopt;
  const std::int64_t whole = a.terms().begin()->second;
  const std::int64_t part = b.terms().begin()->second;
  if (part == 0 || whole % part != 0 || whole / part < 2) return std::nullopt;
  return a == Polynomial(whole / part) * b ? std::optional(whole / part) : std::nullopt;
}

// a div (c*d) is (a div d) div c: its bounds by a div d, for quotients whose divisors d are
// positive by `is_divisor`. A grouped convolution and one with fewer groups divide the same channel
// so.
template <typename IsDivisor>
void add_nested_quotients(const AtomTable& atoms, const std::vector<AtomId>& quotients,
                          const IsDivisor& is_divisor, Facts& facts) {
  for (const AtomId outer : quotients) {
    for (const AtomId inner : quotients) {
      if (outer == inner || !(atoms[outer].a == atoms[inner].a) || !is_divisor(atoms[inner].b))
        continue;
      const auto c = multiple_of(atoms[outer].b, atoms[inner].b);
      if (!c) continue;
      const Polynomial multiple = Polynomial(*c) * Polynomial(outer);
      facts.push_back(less_equal(multiple, Polynomial(inner)));
      facts.push_back(less(Polynomial(inner), multiple + *c));
    }
  }
}

// p, if the fact states that the quotient is, or is not, equal to p.
std::optional<Polynomial> said_of(AtomId quotient, const Literal& fact) {
  const std::int64_t scale = fact.polynomial.coefficient({quotient});
  if (fact.relation == Relation::kNonNegative || (scale != 1 && scale != -1)) return std::nullopt;
  const Polynomial rest = fact.polynomial - Polynomial(scale) * Polynomial(quotient);
  return scale == 1 ? -rest : rest;
}

// A pair of products x*m, y*m that occur in the facts, with m >= 1 or a quotient.
struct Order {
  Monomial x, y;
  AtomId m;
};
// Equal cofactors need no order, and x < y lists each pair once.
std::vector<Order> orders_of_products(const AtomTable& atoms, const Facts& facts) {
  constexpr std::size_t kMost = 100;
  const std::set<AtomId> positive = atoms_at_least(1, facts);
  std::set<Monomial> products = monomials_of(facts);
  AtomSet seen;
  for (const Literal& fact : facts) atoms.collect(fact.polynomial, seen);
  const auto is_quotient = [&](AtomId atom) { return atoms[atom].kind == AtomKind::kQuotient; };
  for (const AtomId id : seen) {
    if (!is_quotient(id)) continue;
    const Polynomial whole = atoms[id].b * Polynomial(id);
    for (const auto& [monomial, coefficient] : whole.terms()) products.insert(monomial);
  }
  std::map<AtomId, std::set<Monomial>> times;  // what stands beside an atom
  for (const Monomial& monomial : products) {
    for (const AtomId atom : monomial) {
      if (!positive.contains(atom) && !is_quotient(atom)) continue;
      Monomial rest = monomial;
      rest.erase(std::ranges::find(rest, atom));
      times[atom].insert(std::move(rest));
    }
  }
  std::vector<Order> orders;
  for (const auto& [m, cofactors] : times) {
    for (const Monomial& x : cofactors) {
      for (const Monomial& y : cofactors) {
        if (x < y && orders.size() < kMost) orders.push_back({x, y, m});
      }
    }
  }
  return orders;
}

// Encodes polynomials linearly: each product of atoms is one unknown of the query.
class Encoder {
 public:
  Encoder(Query& query, const AtomTable& atoms) : query_(query), atoms_(atoms) {}

  Expression of(const Polynomial& polynomial) {
    std::vector<Expression> sum;
    for (const auto& [monomial, coefficient] : polynomial.terms()) {
      const Expression scale = query_.number(coefficient);
      if (monomial.empty()) {
        sum.push_back(scale);
      } else {
        sum.push_back(coefficient == 1 ? unknown(monomial) : scale * unknown(monomial));
      }
    }
    return sum.empty() ? query_.number(0) : query_.make(Query::Op::kSum, sum);
  }
  Expression of(const Literal& literal) {
    const Expression value = of(literal.polynomial);
    switch (literal.relation) {
      case Relation::kNonNegative: return 0 <= value;
      case Relation::kZero: return value == 0;
      case Relation::kNonZero: return !(value == 0);
    }
    return value == 0;
  }

 private:
  Expression unknown(const Monomial& monomial) {
    std::string name;
    for (const AtomId atom : monomial) name += (name.empty() ? "" : "*") + atoms_.text(atom);
    return query_.unknown(name);
  }

  Query& query_;
  const AtomTable& atoms_;
};

}  // namespace

// The facts, the definitions of their atoms, and relevant products of both. The result is linear in
// its products, and the solver then decides it as such. Products of products may be needed, hence
// the rounds. They are few, because each may multiply the number of facts.
Facts IndexSolver::with_consequences(const Facts& facts) {
  Facts all = facts;
  // Definitions may mention atoms that need definitions themselves. collect() has visited these
  // too, and products b * (a div b) make no new atoms, so one pass suffices.
  const std::set<AtomId> positive = atoms_at_least(1, facts);
  const std::set<AtomId> not_negative = atoms_at_least(0, facts);
  AtomSet seen;
  for (const Literal& fact : facts) atoms_.collect(fact.polynomial, seen);
  std::vector<AtomId> quotients;
  for (const AtomId id : seen) {
    const Atom& atom = atoms_[id];
    const Polynomial value(id);
    if (atom.kind == AtomKind::kQuotient) quotients.push_back(id);
    if (atom.kind == AtomKind::kQuotient && is_positive(atom.b, positive, not_negative)) {
      all.push_back(less_equal(atom.b * value, atom.a));
      all.push_back(less(atom.a, atom.b * value + atom.b));
    } else if (atom.kind == AtomKind::kMinimum) {
      all.push_back(less_equal(value, atom.a));
      all.push_back(less_equal(value, atom.b));
    } else if (atom.kind == AtomKind::kMaximum) {
      all.push_back(less_equal(atom.a, value));
      all.push_back(less_equal(atom.b, value));
    }
  }
  const auto is_divisor = [&](const Polynomial& b) {
    return is_positive(b, positive, not_negative);
  };
  add_nested_quotients(atoms_, quotients, is_divisor, all);
  // If a fact states the value of a quotient, the products of that value with the divisor are
  // relevant too.
  std::set<Monomial> wanted;
  for (const AtomId id : seen) {
    if (atoms_[id].kind != AtomKind::kQuotient) continue;
    for (const Literal& fact : facts) {
      const auto said = said_of(id, fact);
      if (!said) continue;
      const Polynomial product = *said * atoms_[id].b;
      for (const auto& [monomial, coefficient] : product.terms()) wanted.insert(monomial);
    }
  }
  std::set<Literal> known(all.begin(), all.end());
  for (int round = 0; round < options_.product_rounds; ++round) {
    Facts products = useful_products(all, wanted);
    std::erase_if(products, [&](const Literal& p) { return !known.insert(p).second; });
    if (products.empty()) break;
    all.insert(all.end(), products.begin(), products.end());
  }
  return all;
}

// One linear integer query: the facts with their consequences, the definitions of minima, maxima
// and quotients, the order of products, and the uniqueness of quotients. Every implication added
// here is valid for integers, so an unsatisfiable query proves that the facts contradict each
// other.
bool IndexSolver::ask(const Facts& facts) {
  const Facts all = with_consequences(facts);
  Query query(Query::Sort::kInteger);
  Encoder encode(query, atoms_);
  for (const Literal& fact : all) query.add(encode.of(fact));

  AtomSet seen;
  for (const Literal& fact : all) atoms_.collect(fact.polynomial, seen);
  const auto within_quotient = [&](const Atom& atom, const Polynomial& value) {
    return encode.of(less_equal(atom.b * value, atom.a)) &&
           encode.of(less(atom.a, atom.b * value + atom.b));
  };
  const auto positive = [&](const Polynomial& p) { return encode.of(at_least_zero(p - 1)); };
  std::vector<AtomId> quotients;
  std::set<Polynomial> candidates{Polynomial(0), Polynomial(1)};
  for (const AtomId id : seen) {
    const Atom& atom = atoms_[id];
    const Polynomial value(id);
    if (atom.kind == AtomKind::kMinimum || atom.kind == AtomKind::kMaximum) {
      query.add(encode.of(equal(value, atom.a)) || encode.of(equal(value, atom.b)));
    } else if (atom.kind == AtomKind::kQuotient) {
      quotients.push_back(id);
      query.add(verifier::implies(positive(atom.b), within_quotient(atom, value)));
      candidates.insert(value);
    } else if (atom.kind == AtomKind::kVariable) {
      candidates.insert(value);
    }
  }
  const auto of_monomial = [](const Monomial& monomial) {
    Polynomial product(1);
    for (const AtomId atom : monomial) product = product * Polynomial(atom);
    return product;
  };
  // Multiplication by m >= 1 is monotone.
  for (const Order& order : orders_of_products(atoms_, facts)) {
    const Polynomial x = of_monomial(order.x);
    const Polynomial y = of_monomial(order.y);
    const Polynomial m(order.m);
    const auto add = [&](const Literal& premise, const Literal& conclusion) {
      query.add(verifier::implies(positive(m) && encode.of(premise), encode.of(conclusion)));
    };
    add(less_equal(x, y), less_equal(x * m, y * m));
    add(less_equal(y, x), less_equal(y * m, x * m));
    add(at_least_zero(y), at_least_zero(y * m));
    add(less(y, 0), less_equal(y * m + m, 0));
    add(less(x, y), less_equal(x * m + m, y * m));
    add(less(y, x), less_equal(y * m + m, x * m));
  }
  // A product with a quotient that is 0 is 0.
  for (const Monomial& product : monomials_of(all)) {
    for (const AtomId atom : product) {
      if (product.size() > 1 && atoms_[atom].kind == AtomKind::kQuotient)
        query.add(verifier::implies(encode.of(is_zero(Polynomial(atom))),
                                    encode.of(is_zero(of_monomial(product)))));
    }
  }
  // Uniqueness lemmas: a candidate that satisfies the quotient's bounds equals the quotient.
  for (const AtomId id : quotients) {
    const Atom& atom = atoms_[id];
    const Polynomial value(id);
    std::set<Polynomial> equals = candidates;
    for (const Literal& fact : facts) {
      if (auto said = said_of(id, fact)) equals.insert(*std::move(said));
    }
    for (const Polynomial& candidate : equals) {
      if (candidate == value) continue;
      query.add(verifier::implies(positive(atom.b) && within_quotient(atom, candidate),
                                  encode.of(equal(value, candidate))));
    }
  }
  return session_.contradictory(query, options_.rlimit);
}

namespace {

// Splits the facts into groups without common atoms (by union-find), each in the given order. Two
// facts share a group if they mention a common atom, also inside quotients and minima. A model of
// each group then gives a model of all facts.
std::vector<Facts> independent_groups(const AtomTable& atoms, const Facts& facts) {
  std::map<AtomId, std::size_t> group_of;
  std::vector<std::size_t> joined_to;
  const auto root = [&](std::size_t group) {
    while (joined_to[group] != group) group = joined_to[group];
    return group;
  };
  std::vector<std::size_t> group_of_fact;
  for (const Literal& fact : facts) {
    std::size_t group = joined_to.size();
    joined_to.push_back(group);
    AtomSet inside;
    atoms.collect(fact.polynomial, inside);
    for (const AtomId atom : inside) {
      const auto [known, is_new] = group_of.emplace(atom, group);
      if (!is_new) joined_to[root(known->second)] = root(group);
    }
    group_of_fact.push_back(group);
  }
  std::map<std::size_t, Facts> groups;
  for (std::size_t i = 0; i < facts.size(); ++i) groups[root(group_of_fact[i])].push_back(facts[i]);
  std::vector<Facts> result;
  for (auto& [group, members] : groups) result.push_back(std::move(members));
  return result;
}

}  // namespace

// Facts are contradictory if one of their independent groups is. A group is a smaller query, and
// its result is reused under other facts.
bool IndexSolver::contradictory(const Facts& facts) {
  Facts open;
  for (const Literal& fact : facts) {
    switch (obvious(fact)) {
      case Truth::kFalse: return true;
      case Truth::kTrue: break;
      case Truth::kUnknown: open.push_back(fact); break;
    }
  }
  const std::vector<Facts> groups = independent_groups(atoms_, open);
  return std::ranges::any_of(groups,
                             [&](const Facts& group) { return group_contradictory(group); });
}

// Cheapest test first: opposite literals, the cache, a certificate (a combination of the facts that
// adds up to a contradiction), a known witness that satisfies them, the solver. A witness ends the
// search early: satisfiable facts need no query.
bool IndexSolver::group_contradictory(const Facts& facts) {
  Facts sorted = facts;
  std::ranges::sort(sorted);
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  const std::set<Literal> set(sorted.begin(), sorted.end());
  for (const Literal& fact : sorted) {
    if (set.contains(negation(fact))) return true;
  }
  if (const auto found = known_.find(sorted); found != known_.end()) return found->second;
  // In the given order: the negated goal is last, which the certificate search uses.
  const bool result = add_up_to_contradiction(facts) || (!witnesses_.find(sorted) && ask(sorted));
  known_.emplace(std::move(sorted), result);
  return result;
}

// By refutation: the facts contradict the negated goal.
bool IndexSolver::implies(const Facts& facts, const Literal& goal) {
  const Truth truth = obvious(goal);
  if (truth == Truth::kTrue || std::ranges::find(facts, goal) != facts.end()) return true;
  Facts all = facts;
  all.push_back(negation(goal));
  return contradictory(all);
}

}  // namespace egret::verifier
