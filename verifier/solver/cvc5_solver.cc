// SPDX-License-Identifier: Apache-2.0
// cvc5, the second solver. Each query uses a new solver object.
#ifdef EGRET_CVC5
#include <cvc5/cvc5.h>

#include <algorithm>
#include <string>
#include <vector>
#endif

#include "verifier/solver/solver.h"

namespace egret::verifier {

#ifdef EGRET_CVC5

namespace {

using Op = Query::Op;

// One work unit of cvc5 takes as long as this many of Z3's. Nonlinear integers take it longer.
constexpr unsigned kUnitsOfZ3 = 20;
unsigned limit_of(const Query& query, unsigned limit) {
  return query.logic() == "QF_NIA" ? limit : std::max(1U, limit / kUnitsOfZ3);
}

cvc5::Kind kind_of(Op op) {
  switch (op) {
    case Op::kSum: return cvc5::ADD;
    case Op::kProduct: return cvc5::MULT;
    case Op::kLess: return cvc5::LT;
    case Op::kLessEqual: return cvc5::LEQ;
    case Op::kEqual: return cvc5::EQUAL;
    case Op::kNot: return cvc5::NOT;
    case Op::kAnd: return cvc5::AND;
    case Op::kOr: return cvc5::OR;
    case Op::kImplies: return cvc5::IMPLIES;
    case Op::kIf: return cvc5::ITE;
    case Op::kUnknown:
    case Op::kNumber:
    case Op::kTruth: break;
  }
  return cvc5::NULL_TERM;
}

std::vector<cvc5::Term> translated(const cvc5::Solver& solver, const Query& query) {
  const bool integers = query.sort() == Query::Sort::kInteger;
  const cvc5::Sort sort = integers ? solver.getIntegerSort() : solver.getRealSort();
  std::vector<cvc5::Term> made;
  for (const Query::Node& node : query.nodes()) {
    switch (node.op) {
      case Op::kUnknown: made.push_back(solver.mkConst(sort, query.text(node))); break;
      case Op::kNumber:
        made.push_back(integers ? solver.mkInteger(query.text(node))
                                : solver.mkReal(query.text(node)));
        break;
      case Op::kTruth: made.push_back(solver.mkBoolean(query.text(node) == "true")); break;
      default: {
        std::vector<cvc5::Term> arguments;
        for (const std::uint32_t argument : node.arguments) arguments.push_back(made[argument]);
        made.push_back(solver.mkTerm(kind_of(node.op), arguments));
      }
    }
  }
  return made;
}

class Cvc5 final : public Solver {
 public:
  std::string_view name() const override { return "cvc5"; }

  Answer ask(const Query& query, unsigned limit) override {
    try {
      cvc5::Solver solver;
      solver.setLogic(std::string(query.logic()));
      solver.setOption("rlimit", std::to_string(limit_of(query, limit)));
      const std::vector<cvc5::Term> terms = translated(solver, query);
      for (const std::uint32_t assertion : query.assertions())
        solver.assertFormula(terms[assertion]);
      const cvc5::Result result = solver.checkSat();
      if (result.isUnsat()) return Answer::kUnsatisfiable;
      return result.isSat() ? Answer::kSatisfiable : Answer::kUnknown;
    } catch (const cvc5::CVC5ApiException&) {
      return Answer::kUnknown;
    }
  }

  std::uint64_t work() const override { return 0; }  // cvc5 does not say
};

}  // namespace

std::unique_ptr<Solver> make_cvc5() { return std::make_unique<Cvc5>(); }

#else

std::unique_ptr<Solver> make_cvc5() { return nullptr; }

#endif

}  // namespace egret::verifier
