// SPDX-License-Identifier: Apache-2.0
#include "ir/evaluate/evaluation_program.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>
#include <vector>

#include "base/system/thread_pool.h"
#include "ir/evaluate/lane_evaluator.h"
#include "ir/evaluate/lane_memory.h"
#include "ir/evaluate/perturbation.h"
#include "ir/nest/merge_variables.h"

namespace egret::ir {
namespace {

// Pieces of work of about 0.3 ms: short enough to balance threads and to poll should_stop(), long
// enough to amortize an evaluator.
constexpr double kPieceSeconds = 3e-4;
constexpr std::int64_t kLeastElementsPerBox = 2048;
constexpr std::int64_t kMaxBoxes = 1024;

// Boxes between the cuts that a nest found, as many as the output's size is worth.
std::vector<OutputBox> boxes_of(const LoopNest& nest, const Shape& shape) {
  auto cuts = nest.cuts;
  const std::int64_t elements = element_count(shape).value_or(0);
  const std::int64_t limit =
      std::clamp<std::int64_t>(elements / kLeastElementsPerBox, 1, kMaxBoxes);
  const auto boxes = [&] {
    std::int64_t count = 1;
    for (const auto& axis : cuts) count *= static_cast<std::int64_t>(axis.size()) + 1;
    return count;
  };
  for (auto& axis : cuts) {  // so that boxes() cannot overflow
    if (static_cast<std::int64_t>(axis.size()) > kMaxBoxes) axis.clear();
  }
  // Too many boxes: give up the cuts of the axis that has the most.
  while (boxes() > limit)
    std::ranges::max_element(cuts, {}, [](auto& c) { return c.size(); })->clear();

  // The boxes are the Cartesian product of the intervals between cuts, built axis by axis.
  std::vector<OutputBox> result{{Shape(shape.size(), 0), shape}};
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    std::vector<OutputBox> finer;
    for (const OutputBox& box : result) {
      std::int64_t low = 0;
      for (std::size_t i = 0; i <= cuts[axis].size(); ++i) {
        OutputBox part = box;
        part.low[axis] = low;
        low = part.high[axis] = i < cuts[axis].size() ? cuts[axis][i] : shape[axis];
        finer.push_back(std::move(part));
      }
    }
    result = std::move(finer);
  }
  return result;
}

// Whether packed products in f64 are right: integers must be exact there, and zeros in place of
// excluded elements must hide no NaN.
bool may_pack(const EvaluationProgram::Product& product, std::span<const Tensor> inputs,
              DType result) {
  return is_float(result) ? zeros_are_neutral(product.contraction, inputs)
                          : is_exact_in_f64(product.contraction, product.nest, inputs);
}

// Rounds wide results into their type; integers wrap.
void narrow(std::span<const double> wide, Tensor& out) {
  constexpr std::size_t kRun = 16384;
  std::byte* data = out.mutable_data().data();
  base::shared_pool().parallel_for(wide.size(), kRun, [&](std::size_t begin, std::size_t end) {
    store_lanes(out.dtype(), data, static_cast<std::int64_t>(begin), 1,
                static_cast<std::int64_t>(end - begin), wide.data() + begin);
  });
}

// Into all of `out`.
base::Status run_product(const EvaluationProgram::Product& product, std::span<const Tensor> inputs,
                         Tensor& out, const InterpretOptions& options) {
  const auto& [contraction, nest] = product;
  if (out.dtype() == DType::kF64)
    return run_contraction(contraction, nest, inputs, out.mutable_as<double>().data(), options);
  Tensor wide = Tensor::unfilled({DType::kF64, out.shape()});
  double* to = wide.mutable_as<double>().data();
  EGRET_RETURN_IF_ERROR(run_contraction(contraction, nest, inputs, to, options));
  narrow(wide.as<double>(), out);
  return base::Status();
}

// Divides the steps of the output loops among threads, each with an evaluator of its own.
base::Status run_lanes(const LaneProgram& plan, std::span<const Tensor> inputs, Tensor& out,
                       const InterpretOptions& options) {
  const DType type = out.dtype();
  std::byte* data = out.mutable_data().data();
  const std::int64_t steps = LaneEvaluator::steps(plan);
  const double step_seconds = plan.seconds / static_cast<double>(std::max<std::int64_t>(steps, 1));
  const double grain = std::clamp(kPieceSeconds / std::max(step_seconds, 1e-12), 1.0,
                                  static_cast<double>(std::max<std::int64_t>(steps, 1)));
  base::Status first;
  std::size_t failed_at = static_cast<std::size_t>(steps);
  std::mutex mutex;
  base::shared_pool().parallel_for(
      static_cast<std::size_t>(steps), static_cast<std::size_t>(grain),
      [&](std::size_t begin, std::size_t end) {
        base::Status status;
        if (options.should_stop && options.should_stop()) {
          status = base::limit_hit("interpreter stopped");
        } else {
          LaneEvaluator evaluator(plan, inputs, options.precision);
          status = evaluator.run(static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end),
                                 type, data);
        }
        if (status.ok()) return;
        const std::lock_guard lock(mutex);  // report the first failure in the output's order
        if (first.ok() || begin < failed_at) {
          first = std::move(status);
          failed_at = begin;
        }
      });
  return first;
}

}  // namespace

// Cuts the output where guards change (padding), so that most boxes need no guards. An output
// without cuts may be a contraction, which runs with packed panels instead of lanes.
base::Result<EvaluationProgram> evaluation_plan(const Denotation& denotation,
                                                std::span<const TensorType> inputs, DType result,
                                                Precision precision) {
  std::vector<DType> types;
  std::vector<Shape> shapes;
  for (const TensorType& input : inputs) {
    types.push_back(input.dtype);
    shapes.push_back(input.shape());
  }
  EGRET_ASSIGN_OR_RETURN(const TermGraph graph, term_graph(denotation, types));
  EvaluationProgram plan{.type = result, .shape = denotation.type.shape()};
  if (element_count(plan.shape) == 0) return plan;
  const auto nest_of = [&](const OutputBox& box) {
    return loop_nest(graph, shapes, plan.shape, box, precision);
  };
  EGRET_ASSIGN_OR_RETURN(LoopNest nest, nest_of({Shape(plan.shape.size(), 0), plan.shape}));
  plan.rounded_terms = rounded_terms(nest);
  const std::vector<OutputBox> boxes = boxes_of(nest, plan.shape);
  // A contraction is looked for in undivided outputs only.
  if (boxes.size() > 1) {
    for (const OutputBox& box : boxes) {
      EGRET_ASSIGN_OR_RETURN(LoopNest part, nest_of(box));
      EGRET_ASSIGN_OR_RETURN(LaneProgram lanes, lane_program(std::move(part)));
      plan.boxes.push_back(std::move(lanes));
    }
    return plan;
  }
  merge_variables(nest);
  if (auto contraction = find_contraction(nest)) {
    plan.product = {*std::move(contraction), std::move(nest)};
  } else {
    EGRET_ASSIGN_OR_RETURN(LaneProgram lanes, lane_program(std::move(nest)));
    plan.boxes.push_back(std::move(lanes));
  }
  return plan;
}

base::Result<Tensor> evaluate(const EvaluationProgram& plan, std::span<const Tensor> inputs,
                              const InterpretOptions& options) {
  // The boxes cover the whole output.
  Tensor out = Tensor::unfilled({plan.type, plan.shape});
  if (out.elements() == 0) return out;
  if (plan.product && may_pack(*plan.product, inputs, plan.type)) {
    EGRET_RETURN_IF_ERROR(run_product(*plan.product, inputs, out, options));
  } else if (plan.product) {
    EGRET_ASSIGN_OR_RETURN(const LaneProgram lanes, lane_program(plan.product->nest));
    EGRET_RETURN_IF_ERROR(run_lanes(lanes, inputs, out, options));
  }
  for (const LaneProgram& box : plan.boxes)
    EGRET_RETURN_IF_ERROR(run_lanes(box, inputs, out, options));
  if (options.perturbation > 0 && plan.rounded_terms > 0 && is_float(plan.type)) {
    const double of_sums = options.sum_perturbation.value_or(options.perturbation);
    perturb(out, std::max(options.perturbation, of_sums * std::sqrt(plan.rounded_terms)),
            options.seed);
  }
  return out;
}

base::Result<Tensor> evaluate_planned(const Denotation& denotation, std::span<const Tensor> inputs,
                                      DType result, const InterpretOptions& options) {
  std::vector<TensorType> types;
  for (const Tensor& input : inputs) types.push_back(input.type());
  EGRET_ASSIGN_OR_RETURN(const EvaluationProgram plan,
                         evaluation_plan(denotation, types, result, options.precision));
  return evaluate(plan, inputs, options);
}

}  // namespace egret::ir
