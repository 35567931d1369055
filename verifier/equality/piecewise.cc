// SPDX-License-Identifier: Apache-2.0
#include "verifier/equality/piecewise.h"

#include <algorithm>
#include <cmath>

#include "verifier/algebra/signs.h"
#include "verifier/solver/query.h"

namespace egret::verifier {
namespace {

using Kind = Factor::Kind;

constexpr std::size_t kMostUnknowns = 40;  // solvers for nonlinear arithmetic cope only with few

struct TooLarge {};

// Factors whose meaning is encoded. All others become unknowns.
bool is_transparent(Kind kind) {
  switch (kind) {
    case Kind::kReciprocal:
    case Kind::kCall:
    case Kind::kMaximum:
    case Kind::kMinimum:
    case Kind::kLess:
    case Kind::kLessEqual:
    case Kind::kEqual: return true;
    default: return false;
  }
}

bool has_truth(const Sum& sum) {
  return std::ranges::any_of(sum.terms, [](const Term& term) {
    return std::ranges::any_of(term.factors, [](const Factor& factor) {
      return is_truth(factor) || std::ranges::any_of(factor.arguments, has_truth);
    });
  });
}

// Encodes sums as real expressions with unknowns for opaque factors. Equal factors get one unknown;
// for opaque factors, `same_` decides what is equal.
class Encoder {
 public:
  Encoder(Query& query, const Piecewise::SameFactor& same) : query_(query), same_(same) {}

  Expression of(const Sum& sum) {
    std::vector<Expression> total;
    for (const Term& term : sum.terms) {
      std::vector<Expression> product;
      if (term.coefficient != 1) product.push_back(query_.number(term.coefficient.str()));
      if (!term.variables.empty() || !term.guards.empty()) {
        product.push_back(sum_over_range(term));
      } else {
        for (const Factor& factor : term.factors) product.push_back(of(factor));
      }
      total.push_back(product.empty() ? query_.number(1)
                                      : query_.make(Query::Op::kProduct, product));
    }
    return total.empty() ? query_.number(0) : query_.make(Query::Op::kSum, total);
  }

  void assume(const RealOrder& fact) {
    const Expression a = of(fact.left);
    const Expression b = of(fact.right);
    query_.add(fact.strict ? a < b : a <= b);
  }

  // Assumes that the sum is defined. Skipped if it contains truth values: they may exclude terms,
  // and after multiplying out (1 - [p]) t no single term shows that.
  void assume_defined(const Sum& sum) {
    if (has_truth(sum)) return;
    for (const Term& term : sum.terms) {
      if (!term.variables.empty() || !term.guards.empty()) continue;
      for (const Factor& factor : term.factors) {
        if (!is_transparent(factor.kind)) continue;
        if (factor.kind == Kind::kReciprocal) query_.add(!(of(factor.arguments[0]) == 0));
        if (factor.kind == Kind::kCall && factor.function == ir::Function::kSqrt)
          query_.add(0 <= of(factor.arguments[0]));
        if (factor.kind == Kind::kCall && factor.function == ir::Function::kLog)
          query_.add(0 < of(factor.arguments[0]));
        for (const Sum& argument : factor.arguments) assume_defined(argument);
      }
    }
  }

  // Relates the values of each function pairwise (see the header).
  void relate_calls() {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) relate(calls_[i], calls_[j]);
    }
  }

 private:
  struct Known {
    Factor factor;
    Expression value;
  };
  struct Call {
    ir::Function function;
    std::vector<Expression> arguments;
    Expression value;
  };

  Expression unknown() {
    if (++unknowns_ > kMostUnknowns) throw TooLarge{};
    return query_.unknown("v" + std::to_string(unknowns_));
  }

  Expression sum_over_range(const Term& term) {
    Term plain = term;
    plain.coefficient = 1;
    const Sum key{{plain}};
    for (const auto& [sum, value] : sums_) {
      if (compare(sum, key) == 0) return value;
    }
    sums_.emplace_back(key, unknown());
    return sums_.back().second;
  }

  // A factor equal to an earlier one gets its value. The exact comparison comes first, because
  // `same_` may need a proof.
  Expression of(const Factor& factor) {
    for (const Known& known : known_) {
      if (compare(known.factor, factor) == 0) return known.value;
    }
    if (!is_transparent(factor.kind)) {
      for (const Known& known : known_) {
        if (known.factor.kind == factor.kind && same_(known.factor, factor)) return known.value;
      }
    }
    const Expression value = made(factor);
    known_.push_back({factor, value});
    return value;
  }

  // If x is 0, v is unconstrained. The encoding thus allows more values than the division has,
  // which is sound for a refutation.
  Expression made(const Factor& factor) {
    const auto argument = [&](std::size_t i) { return of(factor.arguments[i]); };
    const auto truth = [&](Expression holds) {
      return if_else(holds, query_.number(1), query_.number(0));
    };
    switch (factor.kind) {
      case Kind::kMaximum:
      case Kind::kMinimum: {
        Expression best = argument(0);
        for (std::size_t i = 1; i < factor.arguments.size(); ++i) {
          const Expression next = argument(i);
          best = if_else(factor.kind == Kind::kMaximum ? next <= best : best <= next, best, next);
        }
        return best;
      }
      case Kind::kLess: return truth(argument(0) < argument(1));
      case Kind::kLessEqual: return truth(argument(0) <= argument(1));
      case Kind::kEqual: return truth(argument(0) == argument(1));
      // The reciprocal is an unknown v with v x = 1 where x is not 0.
      case Kind::kReciprocal: {
        const Expression of_argument = argument(0);
        const Expression value = unknown();
        query_.add(implies(!(of_argument == 0), value * of_argument == 1));
        return value;
      }
      case Kind::kCall: return call(factor);
      default: {
        const Expression value = unknown();
        if (factor.truth) query_.add(value == 0 || value == 1);
        if (sign_of(factor) != Sign::kUnknown) query_.add(0 <= value);
        return value;
      }
    }
  }

  // A function call is an unknown with the known facts of the function: its bounds, exp > 0, powers
  // of numbers that are not negative, and sqrt(x) sqrt(x) = x. Bounds are used only if they are
  // small whole numbers, which doubles represent exactly.
  Expression call(const Factor& factor) {
    std::vector<Expression> arguments;
    for (const Sum& argument : factor.arguments) arguments.push_back(of(argument));
    const Expression value = unknown();
    const ir::FunctionFacts& facts = ir::facts(factor.function);
    const auto whole = [&](double number) {
      return query_.number(static_cast<std::int64_t>(number));
    };
    const auto is_whole = [](double number) {
      return std::abs(number) < 100 && number == std::trunc(number);
    };
    if (is_whole(facts.low)) query_.add(whole(facts.low) <= value);
    if (is_whole(facts.high)) query_.add(value <= whole(facts.high));
    if (factor.function == ir::Function::kExp) query_.add(0 < value);
    if (factor.function == ir::Function::kPow) query_.add(implies(0 <= arguments[0], 0 <= value));
    if (factor.function == ir::Function::kSqrt)
      query_.add(implies(0 <= arguments[0], 0 <= value && value * value == arguments[0]));
    calls_.push_back({factor.function, arguments, value});
    return value;
  }

  // Relates two calls of one function: equal arguments give equal values, monotone functions keep
  // (or reverse) the order, and exp(x) exp(-x) = 1.
  void relate(const Call& a, const Call& b) {
    if (a.function != b.function) return;
    Expression same = query_.truth(true);
    for (std::size_t i = 0; i < a.arguments.size(); ++i)
      same = same && a.arguments[i] == b.arguments[i];
    query_.add(implies(same, a.value == b.value));
    const ir::Monotone monotone = ir::facts(a.function).monotone;
    if (monotone != ir::Monotone::kNo) {
      const bool up = monotone == ir::Monotone::kIncreasing;
      const Expression low = up ? a.value : b.value;
      const Expression high = up ? b.value : a.value;
      query_.add(implies(a.arguments[0] <= b.arguments[0], low <= high));
      query_.add(implies(b.arguments[0] <= a.arguments[0], high <= low));
    }
    if (a.function == ir::Function::kExp)
      query_.add(implies(a.arguments[0] + b.arguments[0] == 0, a.value * b.value == 1));
  }

  Query& query_;
  const Piecewise::SameFactor& same_;
  std::vector<Known> known_;
  std::vector<std::pair<Sum, Expression>> sums_;
  std::vector<Call> calls_;
  std::size_t unknowns_ = 0;
};

bool applies(const Sum& sum) {
  return std::ranges::any_of(sum.terms, [](const Term& term) {
    return term.variables.empty() && std::ranges::any_of(term.factors, [](const Factor& factor) {
             return is_transparent(factor.kind);
           });
  });
}

// Whether the constraints that `state` adds are unsatisfiable. Too many unknowns count as "no".
template <typename State>
bool unsatisfiable(SolverSession& session, unsigned rlimit, const Piecewise::SameFactor& same,
                   const State& state) {
  Query query(Query::Sort::kReal);
  try {
    Encoder encode(query, same);
    state(query, encode);
    encode.relate_calls();
  } catch (const TooLarge&) {
    return false;
  }
  return session.contradictory(query, rlimit);
}

}  // namespace

bool Piecewise::applies(const Sum& a, const Sum& b) {
  return verifier::applies(a) || verifier::applies(b);
}

// Asks for a counterexample: both sides defined, the facts hold, and the sides differ. If none
// exists, the sides are equal.
bool Piecewise::equal(const Sum& a, const Sum& b, const std::vector<RealOrder>& facts,
                      const SameFactor& same) const {
  return unsatisfiable(session_, rlimit_, same, [&](Query& query, Encoder& encode) {
    for (const RealOrder& fact : facts) encode.assume(fact);
    encode.assume_defined(a);
    encode.assume_defined(b);
    query.add(!(encode.of(a) == encode.of(b)));
  });
}

bool Piecewise::contradictory(const std::vector<RealOrder>& facts) const {
  const SameFactor never = [](const Factor&, const Factor&) { return false; };
  return unsatisfiable(session_, rlimit_, never, [&](Query&, Encoder& encode) {
    for (const RealOrder& fact : facts) encode.assume(fact);
  });
}

}  // namespace egret::verifier
