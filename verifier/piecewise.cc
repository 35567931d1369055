// SPDX-License-Identifier: Apache-2.0
#include "verifier/piecewise.h"

#include <z3++.h>

#include <algorithm>
#include <cmath>

namespace egret::verifier {
namespace {

using Kind = Factor::Kind;

constexpr std::size_t kMostUnknowns = 40;  // nonlinear arithmetic is for few

struct TooLarge {};

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

bool is_truth(const Factor& factor) {
  return factor.truth || factor.kind == Kind::kLess || factor.kind == Kind::kLessEqual ||
         factor.kind == Kind::kEqual;
}

bool has_truth(const Sum& sum) {
  return std::ranges::any_of(sum.terms, [](const Term& term) {
    return std::ranges::any_of(term.factors, [](const Factor& factor) {
      return is_truth(factor) || std::ranges::any_of(factor.arguments, has_truth);
    });
  });
}

class Encoder {
 public:
  Encoder(z3::context& context, z3::solver& solver, const Piecewise::SameFactor& same)
      : context_(context), solver_(solver), same_(same) {}

  z3::expr of(const Sum& sum) {
    z3::expr total = context_.real_val(0);
    for (const Term& term : sum.terms) {
      z3::expr one = context_.real_val(term.coefficient.str().c_str());
      if (!term.variables.empty() || !term.guards.empty()) {
        one = one * sum_over_range(term);
      } else {
        for (const Factor& factor : term.factors) one = one * of(factor);
      }
      total = total + one;
    }
    return total;
  }

  void assume(const RealOrder& fact) {
    const z3::expr a = of(fact.left);
    const z3::expr b = of(fact.right);
    solver_.add(fact.strict ? a < b : a <= b);
  }

  // What the sum needs to be defined. Not where there are truth values: they may exclude terms, and
  // with (1 - [p]) t multiplied out no term tells.
  void assume_defined(const Sum& sum) {
    if (has_truth(sum)) return;
    for (const Term& term : sum.terms) {
      if (!term.variables.empty() || !term.guards.empty()) continue;
      for (const Factor& factor : term.factors) {
        if (!is_transparent(factor.kind)) continue;
        if (factor.kind == Kind::kReciprocal) solver_.add(of(factor.arguments[0]) != 0);
        if (factor.kind == Kind::kCall && factor.function == ir::Function::kSqrt)
          solver_.add(of(factor.arguments[0]) >= 0);
        if (factor.kind == Kind::kCall && factor.function == ir::Function::kLog)
          solver_.add(of(factor.arguments[0]) > 0);
        for (const Sum& argument : factor.arguments) assume_defined(argument);
      }
    }
  }

  // What holds between values of one function.
  void relate_calls() {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) relate(calls_[i], calls_[j]);
    }
  }

 private:
  struct Known {
    Factor factor;
    z3::expr value;
  };
  struct Call {
    ir::Function function;
    z3::expr_vector arguments;
    z3::expr value;
  };

  z3::expr unknown() {
    if (++unknowns_ > kMostUnknowns) throw TooLarge{};
    return context_.real_const(("v" + std::to_string(unknowns_)).c_str());
  }

  z3::expr sum_over_range(const Term& term) {
    Term plain = term;
    plain.coefficient = 1;
    const Sum key{{plain}};
    for (const auto& [sum, value] : sums_) {
      if (compare(sum, key) == 0) return value;
    }
    sums_.emplace_back(key, unknown());
    return sums_.back().second;
  }

  z3::expr of(const Factor& factor) {
    for (const Known& known : known_) {
      if (compare(known.factor, factor) == 0) return known.value;
    }
    if (!is_transparent(factor.kind)) {
      for (const Known& known : known_) {
        if (known.factor.kind == factor.kind && same_(known.factor, factor)) return known.value;
      }
    }
    const z3::expr value = made(factor);
    known_.push_back({factor, value});
    return value;
  }

  z3::expr made(const Factor& factor) {
    const auto argument = [&](std::size_t i) { return of(factor.arguments[i]); };
    const auto truth = [&](const z3::expr& holds) {
      return z3::ite(holds, context_.real_val(1), context_.real_val(0));
    };
    switch (factor.kind) {
      case Kind::kMaximum:
      case Kind::kMinimum: {
        z3::expr best = argument(0);
        for (std::size_t i = 1; i < factor.arguments.size(); ++i) {
          const z3::expr next = argument(i);
          best = z3::ite(factor.kind == Kind::kMaximum ? best >= next : best <= next, best, next);
        }
        return best;
      }
      case Kind::kLess: return truth(argument(0) < argument(1));
      case Kind::kLessEqual: return truth(argument(0) <= argument(1));
      case Kind::kEqual: return truth(argument(0) == argument(1));
      case Kind::kReciprocal: {
        const z3::expr of_argument = argument(0);
        const z3::expr value = unknown();
        solver_.add(z3::implies(of_argument != 0, value * of_argument == 1));
        return value;
      }
      case Kind::kCall: return call(factor);
      default: {
        const z3::expr value = unknown();
        if (factor.truth) solver_.add(value == 0 || value == 1);
        return value;
      }
    }
  }

  z3::expr call(const Factor& factor) {
    z3::expr_vector arguments(context_);
    for (const Sum& argument : factor.arguments) arguments.push_back(of(argument));
    const z3::expr value = unknown();
    const ir::FunctionFacts& facts = ir::facts(factor.function);
    const auto bound = [&](double number) {
      return context_.real_val(std::to_string(static_cast<long>(number)).c_str());
    };
    const auto is_whole = [](double number) {
      return std::abs(number) < 100 && number == std::trunc(number);
    };
    if (is_whole(facts.low)) solver_.add(value >= bound(facts.low));
    if (is_whole(facts.high)) solver_.add(value <= bound(facts.high));
    if (factor.function == ir::Function::kExp) solver_.add(value > 0);
    if (factor.function == ir::Function::kSqrt)
      solver_.add(z3::implies(arguments[0] >= 0, value >= 0 && value * value == arguments[0]));
    calls_.push_back({factor.function, arguments, value});
    return value;
  }

  void relate(const Call& a, const Call& b) {
    if (a.function != b.function) return;
    z3::expr same = context_.bool_val(true);
    for (unsigned i = 0; i < a.arguments.size(); ++i)
      same = same && a.arguments[static_cast<int>(i)] == b.arguments[static_cast<int>(i)];
    solver_.add(z3::implies(same, a.value == b.value));
    const ir::Monotone monotone = ir::facts(a.function).monotone;
    if (monotone != ir::Monotone::kNo) {
      const bool up = monotone == ir::Monotone::kIncreasing;
      const z3::expr& low = up ? a.value : b.value;
      const z3::expr& high = up ? b.value : a.value;
      solver_.add(z3::implies(a.arguments[0] <= b.arguments[0], low <= high));
      solver_.add(z3::implies(a.arguments[0] >= b.arguments[0], low >= high));
    }
    if (a.function == ir::Function::kExp)
      solver_.add(z3::implies(a.arguments[0] + b.arguments[0] == 0, a.value * b.value == 1));
  }

  z3::context& context_;
  z3::solver& solver_;
  const Piecewise::SameFactor& same_;
  std::vector<Known> known_;
  std::vector<std::pair<Sum, z3::expr>> sums_;
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

// Whether no value of the unknowns satisfies what `state` adds.
template <typename State>
bool unsatisfiable(unsigned rlimit, const Piecewise::SameFactor& same, const State& state) {
  try {
    z3::context context;
    z3::solver solver(context, "QF_NRA");
    z3::params parameters(context);
    parameters.set("rlimit", rlimit);
    parameters.set("random_seed", 0U);
    solver.set(parameters);
    Encoder encode(context, solver, same);
    state(solver, encode);
    encode.relate_calls();
    return solver.check() == z3::unsat;
  } catch (const z3::exception&) {
    return false;  // out of its limit, or of memory: not known
  } catch (const TooLarge&) {
    return false;
  }
}

}  // namespace

bool Piecewise::applies(const Sum& a, const Sum& b) {
  return verifier::applies(a) || verifier::applies(b);
}

bool Piecewise::equal(const Sum& a, const Sum& b, const std::vector<RealOrder>& facts,
                      const SameFactor& same) const {
  return unsatisfiable(rlimit_, same, [&](z3::solver& solver, Encoder& encode) {
    for (const RealOrder& fact : facts) encode.assume(fact);
    encode.assume_defined(a);
    encode.assume_defined(b);
    solver.add(encode.of(a) != encode.of(b));
  });
}

bool Piecewise::contradictory(const std::vector<RealOrder>& facts) const {
  const SameFactor never = [](const Factor&, const Factor&) { return false; };
  return unsatisfiable(rlimit_, never, [&](z3::solver&, Encoder& encode) {
    for (const RealOrder& fact : facts) encode.assume(fact);
  });
}

}  // namespace egret::verifier
