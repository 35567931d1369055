// SPDX-License-Identifier: Apache-2.0
#include "verifier/obligation.h"

#include <optional>
#include <utility>

#include "verifier/definedness.h"
#include "verifier/element_value.h"
#include "verifier/equality.h"
#include "verifier/equations.h"

namespace egret::verifier {
namespace {

constexpr std::size_t kMostAlternatives = 32;

}  // namespace

struct Obligation::Impl {
  AtomTable atoms;
  std::vector<ElementValues> sides;  // left, right
  std::vector<ir::Dims> shapes;      // of the outputs
  std::vector<ir::Guard> requirements;
  std::vector<RealOrder> orders;  // of unknown reals

  // The conditions as alternatives, each a conjunction.
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

  // Adds to `proof`; whether the output's elements are equal under the facts.
  bool prove_output(std::size_t output, Facts facts, Equality& equality, Definedness& definedness,
                    Proof& proof) {
    std::vector<Polynomial> at;
    for (const ir::Index& size : shapes[output]) {
      at.emplace_back(atoms.fresh_variable());
      facts.push_back(at_least_zero(at.back()));
      facts.push_back(less(at.back(), ElementValues::polynomial(atoms, size)));
    }
    const Solved solved = solve_equations(atoms, std::move(facts));
    const auto apply = [&](const Polynomial& p) { return solved.apply(atoms, p); };
    std::vector<Need> needs[2];
    const Sum left = changed(sides[0].element(output, at, &needs[0]), apply);
    const Sum right = changed(sides[1].element(output, at, &needs[1]), apply);
    proof.lines.push_back("left   " + text(atoms, left));
    proof.lines.push_back("right  " + text(atoms, right));
    std::vector<RealOrder> known = orders;
    for (RealOrder& order : known) {
      order.left = changed(order.left, apply);
      order.right = changed(order.right, apply);
    }
    equality.assume(known);
    const bool equal = equality.prove(left, right, solved.facts);
    for (const std::string& line : equality.trace()) proof.lines.push_back("  " + line);
    if (!equal) {
      proof.reason =
          equality.trace().empty() ? "the sides could not be matched" : equality.trace().back();
      return false;
    }
    for (std::vector<Need>& side : needs) {
      for (Need& need : side) need = changed(need, apply);
    }
    const Need* open = definedness.unproven(needs[0], needs[1], solved.facts, known);
    if (open != nullptr)
      proof.reason =
          "the right side may be undefined where the left is not: it is not known that " +
          text(atoms, *open);
    if (!needs[1].empty() && open == nullptr)
      proof.lines.push_back(
          "  defined wherever the left side is: " + text(atoms, needs[1].front()) +
          (needs[1].size() > 1 ? ", and more" : ""));
    return open == nullptr;
  }
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
  return Obligation(std::move(impl));
}

std::span<const ir::Guard> Obligation::requirements() const { return impl_->requirements; }

Proof Obligation::prove(std::span<const ir::Guard> conditions, const ProofOptions& options) {
  Proof proof;
  std::optional<SolverSession> own;
  SolverSession& session = options.session != nullptr ? *options.session : own.emplace();
  IndexSolver solver(impl_->atoms, session, {.rlimit = options.rlimit}, options.example);
  Equality equality(impl_->atoms, session, solver,
                    {.cases = options.cases, .rlimit = options.rlimit});
  Definedness definedness(impl_->atoms, session, solver, equality, options.rlimit);
  try {
    proof.proven = true;
    for (const Facts& given : impl_->hypotheses(conditions)) {
      for (std::size_t i = 0; i < impl_->shapes.size() && proof.proven; ++i)
        proof.proven = impl_->prove_output(i, given, equality, definedness, proof);
    }
  } catch (const NotExpressible& problem) {
    proof.proven = false;
    proof.reason = "no form for " + problem.what;
  } catch (const PolynomialOverflow&) {
    proof.proven = false;
    proof.reason = "numbers beyond 64 bits";
  }
  return proof;
}

}  // namespace egret::verifier
