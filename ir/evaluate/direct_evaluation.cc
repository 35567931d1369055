// SPDX-License-Identifier: Apache-2.0
#include "ir/evaluate/direct_evaluation.h"

#include "ir/core/real_arithmetic.h"
#include "ir/evaluate/direct_evaluator.h"

namespace egret::ir {
namespace {

// What a domain offers. Operations that may have no value return a Result.
class RealDomain {
 public:
  using Value = double;

  RealDomain(std::span<const Tensor> inputs, Precision precision)
      : inputs_(inputs), precision_(precision) {}

  double read(int input, std::int64_t i) const {
    return inputs_[static_cast<std::size_t>(input)].f64_at(i);
  }
  std::int64_t read_integer(int input, std::int64_t i) const {
    return inputs_[static_cast<std::size_t>(input)].i64_at(i);
  }
  double constant(double value) const { return value; }
  double from_integer(DType type, std::int64_t value) const { return integer_to_real(type, value); }
  std::int64_t to_integer(DType type, double value) const { return real_to_integer(type, value); }
  double round_to(DType type, double value) const { return round_real(type, precision_, value); }
  double add(double a, double b) const { return a + b; }
  double sub(double a, double b) const { return a - b; }
  double mul(double a, double b) const { return a * b; }
  double div(double a, double b) const { return a / b; }
  double neg(double a) const { return -a; }
  double min(double a, double b) const { return real_min(a, b); }
  double max(double a, double b) const { return real_max(a, b); }
  double call(Function function, double a, double b) const { return facts(function).f64(a, b); }
  double empty(Reduction reduction) const { return extremum_of_nothing(reduction); }
  bool less(double a, double b) const { return a < b; }
  bool less_equal(double a, double b) const { return a <= b; }
  bool equal(double a, double b) const { return a == b; }

 private:
  std::span<const Tensor> inputs_;
  Precision precision_;
};

}  // namespace

// Evaluates the definition element by element, without a plan. It is slow, and simple enough to
// serve as the reference for the planned evaluation.
base::Result<Tensor> evaluate_directly(const Denotation& denotation, std::span<const Tensor> inputs,
                                       DType result, Precision precision) {
  std::vector<DType> types;
  std::vector<Shape> shapes;
  for (const Tensor& input : inputs) {
    types.push_back(input.dtype());
    shapes.push_back(input.shape());
  }
  EGRET_ASSIGN_OR_RETURN(const TermGraph graph, term_graph(denotation, types));
  const Shape shape = denotation.type.shape();
  Tensor out(result, shape);
  RealDomain domain(inputs, precision);
  DirectEvaluator<RealDomain> evaluator(graph, shapes, domain);
  EGRET_RETURN_IF_ERROR(evaluator.run(
      shape, [&](std::int64_t i, double value) { out.set_f64(i, value); },
      [&](std::int64_t i, std::int64_t value) { out.set_i64(i, value); }));
  return out;
}

}  // namespace egret::ir
