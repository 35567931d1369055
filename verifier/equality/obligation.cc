// SPDX-License-Identifier: Apache-2.0
#include "verifier/equality/obligation.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "verifier/algebra/element_value.h"
#include "verifier/algebra/integer_laws.h"
#include "verifier/equality/closed_inputs.h"
#include "verifier/equality/definedness.h"
#include "verifier/equality/equality.h"
#include "verifier/index/equations.h"

namespace egret::verifier {
namespace {

constexpr std::size_t kMostAlternatives = 32;

enum class Goal : std::uint8_t { kEqualAndDefined, kDefined };

// The tools of one proof.
struct Prover {
  Prover(AtomTable& atoms, SolverSession& session, const ProofOptions& options)
      : solver(atoms, session, {.rlimit = options.rlimit}, options.example),
        equality(atoms, session, solver, {.cases = options.cases, .rlimit = options.rlimit}),
        definedness(atoms, session, solver, equality, options.rlimit) {}

  IndexSolver solver;
  Equality equality;
  Definedness definedness;
};

}  // namespace

struct Obligation::Impl {
  AtomTable atoms;
  std::vector<ElementValues> sides;  // left, right
  std::vector<ir::Dims> shapes;      // of the outputs
  std::vector<ir::Guard> requirements;
  std::vector<RealFact> real_facts;  // about unknown reals
  std::vector<RealOrder> orders;     // the same, of values
  std::vector<OpenInput> inputs;     // of the left side, whose elements are open

  // The conditions in disjunctive form: each alternative is a conjunction.
  std::vector<Facts> hypotheses(std::span<const ir::Guard> conditions) {
    std::vector<Facts> all{{}};
    for (const ir::Guard& condition : conditions) {
      std::vector<Facts> next;
      for (const Facts& one : ElementValues::cases(atoms, condition)) {
        for (const Facts& before : all) next.push_back(both(before, one));
      }
      all = std::move(next);
      if (all.size() > kMostAlternatives)
        throw NotExpressible{"so many alternatives among the conditions"};
    }
    return all;
  }

  // Facts about unknown reals that are about indices: an open integer compared with a size.
  Facts index_facts() const {
    Facts facts;
    for (const RealOrder& order : orders) {
      const auto left = as_index(order.left);
      const auto right = as_index(order.right);
      if (left && right)
        facts.push_back(order.strict ? less(*left, *right) : less_equal(*left, *right));
    }
    return facts;
  }

  // Proves one output for symbolic indices within its shape; appends to `proof`.
  bool prove_output(std::size_t output, Facts facts, Goal goal, Prover& prover, Proof& proof) {
    std::vector<Polynomial> at;
    for (const ir::Index& size : shapes[output]) {
      at.emplace_back(atoms.fresh_variable());
      facts.push_back(at_least_zero(at.back()));
      facts.push_back(less(at.back(), ElementValues::polynomial(atoms, size)));
    }
    return prove_element(output, at, std::move(facts), goal, prover, proof);
  }

  // Proves one output element by element; its shape must be numeric.
  bool prove_elements(std::size_t output, Prover& prover, Proof& proof) {
    const ir::Dims& shape = shapes[output];
    std::int64_t elements = 1;
    for (const ir::Index& size : shape) elements *= size.constant();
    for (std::int64_t i = 0; i < elements; ++i) {
      std::vector<Polynomial> at(shape.size());
      std::int64_t rest = i;
      for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis].constant())
        at[axis] = rest % shape[axis].constant();
      proof.lines.clear();
      if (!prove_element(output, at, {}, Goal::kEqualAndDefined, prover, proof)) return false;
    }
    return true;
  }

  bool prove_element(std::size_t output, const std::vector<Polynomial>& at, Facts facts, Goal goal,
                     Prover& prover, Proof& proof) {
    // Solved equations make sizes that must be equal identical, so most later questions are decided
    // by structure.
    const Solved solved = solve_equations(atoms, both(facts, index_facts()));
    const auto apply = [&](const Polynomial& p) { return solved.apply(atoms, p); };
    std::vector<Need> needs[2];
    const Sum left = changed(sides[0].element(output, at, &needs[0]), apply);
    const Sum right = changed(sides[1].element(output, at, &needs[1]), apply);
    std::vector<RealOrder> known = orders;
    for (RealOrder& order : known) {
      order.left = changed(order.left, apply);
      order.right = changed(order.right, apply);
    }
    if (goal == Goal::kEqualAndDefined) {
      prover.equality.assume(known);
      if (!prove_equal(left, right, solved.facts, prover, proof)) {
        // Without elements there is nothing to prove.
        if (!prover.solver.contradictory(solved.facts)) return false;
        proof.lines.emplace_back("  no elements");
        return true;
      }
    }
    for (std::vector<Need>& side : needs) {
      for (Need& need : side) need = changed(need, apply);
    }
    return prove_defined(needs[0], needs[1], solved.facts, known, prover, proof);
  }

  bool prove_equal(const Sum& left, const Sum& right, const Facts& facts, Prover& prover,
                   Proof& proof) {
    proof.lines.push_back("left   " + text(atoms, left));
    proof.lines.push_back("right  " + text(atoms, right));
    const bool equal = prover.equality.prove(left, right, facts);
    const std::vector<std::string>& trace = prover.equality.trace();
    for (const std::string& line : trace) proof.lines.push_back("  " + line);
    if (!equal) proof.reason = trace.empty() ? "the sides could not be matched" : trace.back();
    return equal;
  }

  bool prove_defined(const std::vector<Need>& left, const std::vector<Need>& right,
                     const Facts& facts, const std::vector<RealOrder>& known, Prover& prover,
                     Proof& proof) {
    const Need* open = prover.definedness.unproven(left, right, facts, known);
    if (open != nullptr) {
      proof.reason =
          "the right side may be undefined where the left is not: it is not known that " +
          text(atoms, *open);
    } else if (!right.empty()) {
      proof.lines.push_back("  defined wherever the left side is: " + text(atoms, right.front()) +
                            (right.size() > 1 ? ", and more" : ""));
    }
    return open == nullptr;
  }

  Proof prove_outputs(std::span<const ir::Guard> conditions, Goal goal,
                      const ProofOptions& options);

  bool prove_different(std::size_t output, Facts facts, Prover& prover, Proof& proof);
  bool differ(std::size_t output, const Solved& solved, std::span<const ClosedInputs> inputs,
              Prover& prover, Proof& proof);
};

Obligation::Obligation(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Obligation::~Obligation() = default;
Obligation::Obligation(Obligation&&) noexcept = default;
Obligation& Obligation::operator=(Obligation&&) noexcept = default;

base::Result<Obligation> Obligation::of(const ir::Graph& left, const ir::Graph& right,
                                        const std::map<std::string, double>& splats,
                                        const RealNumbers& reals) {
  auto impl = std::make_unique<Impl>();
  std::map<std::string, std::int64_t> tensors;
  for (const ir::Graph* graph : {&left, &right}) {
    EGRET_ASSIGN_OR_RETURN(
        ElementValues side,
        ElementValues::of(ir::without_dead_nodes(*graph), impl->atoms, tensors, splats, reals));
    impl->requirements.insert(impl->requirements.end(), side.requirements().begin(),
                              side.requirements().end());
    impl->sides.push_back(std::move(side));
  }
  impl->real_facts = reals.facts;
  try {
    for (const RealFact& fact : reals.facts)
      impl->orders.push_back(
          {impl->sides[0].value_of(fact.a), impl->sides[0].value_of(fact.b), fact.strict});
  } catch (const NotExpressible&) {
    impl->orders.clear();  // less is known
  } catch (const PolynomialOverflow&) {
    impl->orders.clear();
  }
  for (const auto& output : left.outputs())
    impl->shapes.push_back(left.node(output.node).type.dims);
  for (const ir::NodeId id : left.inputs()) {
    const ir::Node& input = left.node(id);
    const auto number = tensors.find(input.name);
    if (number == tensors.end() || splats.contains(input.name)) continue;
    const auto sign = reals.signs.find(input.name);
    impl->inputs.push_back({number->second, input.type,
                            sign != reals.signs.end() ? sign->second : ir::Sign::kUnknown});
  }
  return Obligation(std::move(impl));
}

std::span<const ir::Guard> Obligation::requirements() const { return impl_->requirements; }

const ElementValues& Obligation::side(std::size_t number) const { return impl_->sides[number]; }
std::span<const ir::Dims> Obligation::shapes() const { return impl_->shapes; }
std::span<const RealFact> Obligation::real_facts() const { return impl_->real_facts; }

namespace {

// Runs `attempt` with a prover. Exceptions become the reason for failure.
template <typename Attempt>
Proof proof_of(AtomTable& atoms, const ProofOptions& options, const Attempt& attempt) {
  Proof proof;
  EGRET_CHECK(options.session != nullptr, "a session answers the queries");
  Prover prover(atoms, *options.session, options);
  try {
    proof.proven = attempt(prover, proof);
  } catch (const NotExpressible& problem) {
    proof.reason = "no form for " + problem.what;
  } catch (const PolynomialOverflow&) {
    proof.reason = "numbers beyond 64 bits";
  }
  return proof;
}

}  // namespace

Proof Obligation::Impl::prove_outputs(std::span<const ir::Guard> conditions, Goal goal,
                                      const ProofOptions& options) {
  return proof_of(atoms, options, [&](Prover& prover, Proof& proof) {
    for (const Facts& given : hypotheses(conditions)) {
      for (std::size_t i = 0; i < shapes.size(); ++i) {
        if (!prove_output(i, given, goal, prover, proof)) return false;
      }
    }
    return true;
  });
}

Proof Obligation::prove(std::span<const ir::Guard> conditions, const ProofOptions& options) {
  return impl_->prove_outputs(conditions, Goal::kEqualAndDefined, options);
}

Proof Obligation::prove_defined(std::span<const ir::Guard> conditions,
                                const ProofOptions& options) {
  return impl_->prove_outputs(conditions, Goal::kDefined, options);
}

namespace {

// The elements at the corners of a shape that differ from the first in no axis, one or all.
std::vector<std::vector<Polynomial>> corners(AtomTable& atoms, const ir::Dims& shape) {
  std::vector<Polynomial> last;
  for (const ir::Index& size : shape) last.push_back(ElementValues::polynomial(atoms, size) - 1);
  std::vector<std::vector<Polynomial>> all{std::vector<Polynomial>(shape.size()), last};
  if (shape.empty()) all.pop_back();
  for (std::size_t axis = 0; axis < shape.size() && shape.size() > 1; ++axis) {
    all.emplace_back(shape.size());
    all.back()[axis] = last[axis];
  }
  return all;
}

}  // namespace

// Whether some of these inputs make the sides differ at a corner, for all sizes: which of them may
// depend on the sizes. Inputs for which the left side may be undefined do not count.
bool Obligation::Impl::differ(std::size_t output, const Solved& solved,
                              std::span<const ClosedInputs> closed, Prover& prover, Proof& proof) {
  const auto apply = [&](const Polynomial& p) { return solved.apply(atoms, p); };
  std::vector<RealOrder> known = orders;
  for (RealOrder& order : known) {
    order.left = changed(order.left, apply);
    order.right = changed(order.right, apply);
  }
  std::vector<std::pair<Sum, Sum>> sides_at;
  for (const ClosedInputs& one : closed) {
    for (const std::vector<Polynomial>& at : corners(atoms, shapes[output])) {
      std::vector<Need> needs;
      const Sum left = with_inputs(atoms, sides[0].element(output, at, &needs), one);
      for (Need& need : needs) need = changed(with_inputs(atoms, need, one), apply);
      if (prover.definedness.unproven({}, needs, solved.facts, known) != nullptr) continue;
      const Sum right = with_inputs(atoms, sides[1].element(output, at), one);
      sides_at.emplace_back(changed(left, apply), changed(right, apply));
    }
  }
  prover.equality.assume(known);
  if (!prover.equality.some_differ(sides_at, solved.facts)) return false;
  for (const auto& [left, right] : sides_at)
    proof.lines.push_back("differ " + text(atoms, left) + " and " + text(atoms, right));
  return true;
}

// First one choice of inputs for all sizes, then several.
bool Obligation::Impl::prove_different(std::size_t output, Facts facts, Prover& prover,
                                       Proof& proof) {
  constexpr std::size_t kMostTogether = 6;
  for (const ir::Index& size : shapes[output])
    facts.push_back(at_least_zero(ElementValues::polynomial(atoms, size) - 1));
  const Solved solved = solve_equations(atoms, both(facts, index_facts()));
  if (prover.solver.contradictory(solved.facts)) {
    proof.lines.emplace_back("  no elements");
    return true;
  }
  const std::vector<ClosedInputs> all = closed_inputs(atoms, inputs);
  for (const ClosedInputs& one : all) {
    if (differ(output, solved, {&one, 1}, prover, proof)) return true;
  }
  if (differ(output, solved, std::span(all).first(std::min(kMostTogether, all.size())), prover,
             proof))
    return true;
  proof.reason = "no inputs were found for which the sides differ at a corner";
  return false;
}

// Of rules with one output: where one of several has no elements, another may differ.
Proof Obligation::prove_different(std::span<const ir::Guard> conditions,
                                  const ProofOptions& options) {
  Impl& impl = *impl_;
  return proof_of(impl.atoms, options, [&](Prover& prover, Proof& proof) {
    if (impl.shapes.size() != 1) {
      proof.reason = "several outputs";
      return false;
    }
    return std::ranges::all_of(impl.hypotheses(conditions), [&](const Facts& given) {
      return impl.prove_different(0, given, prover, proof);
    });
  });
}

bool Obligation::implies(std::span<const ir::Guard> conditions, std::span<const ir::Guard> others,
                         const ProofOptions& options) {
  return proof_of(impl_->atoms, options,
                  [&](Prover& prover, Proof&) {
                    const std::vector<Facts> hypotheses = impl_->hypotheses(conditions);
                    return std::ranges::all_of(others, [&](const ir::Guard& other) {
                      const std::vector<Facts> cases = ElementValues::cases(impl_->atoms, other);
                      // A disjunction would need a case split. It counts as not implied.
                      if (cases.size() != 1) return false;
                      return std::ranges::all_of(hypotheses, [&](const Facts& given) {
                        return std::ranges::all_of(cases.front(), [&](const Literal& literal) {
                          return prover.solver.implies(given, literal);
                        });
                      });
                    });
                  })
      .proven;
}

Proof Obligation::prove_each_element(const ProofOptions& options) {
  for (ElementValues& side : impl_->sides) side.write_out_reductions();
  return proof_of(impl_->atoms, options, [&](Prover& prover, Proof& proof) {
    for (std::size_t i = 0; i < impl_->shapes.size(); ++i) {
      if (!impl_->prove_elements(i, prover, proof)) return false;
    }
    return true;
  });
}

}  // namespace egret::verifier
