// SPDX-License-Identifier: Apache-2.0
#include "driver/output_check.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "base/random.h"
#include "base/units.h"
#include "ir/input_draws.h"
#include "ir/interpreter.h"
#include "ir/work.h"

namespace egret::driver {
namespace {

// Unit roundoff of the type that an output is stored in.
double roundoff(ir::DType type) {
  switch (type) {
    case ir::DType::kF16: return 0x1p-11;
    case ir::DType::kBF16: return 0x1p-8;
    default: return 0x1p-24;  // f32, and f64 too: fast kernels compute in f32
  }
}

constexpr double kF32Roundoff = 0x1p-24;

// Fast kernels approximate exp, tanh and their like to some tens of units in the last place.
constexpr double kKernelUnits = 32;

constexpr double kSmallFlops = 1e8;
constexpr int kSmallRepeats = 4;

double arithmetic(const ir::Graph& graph) {
  double flops = 0;
  for (const ir::Node& node : graph.nodes()) {
    if (node.kind != ir::NodeKind::kOperator) continue;
    const auto work = ir::work_of(graph, node);
    if (work.ok()) flops += work->flops;
  }
  return flops;
}

// An output whose rounding errors may be as large as a tenth of itself shows nothing.
constexpr double kConclusive = 0.1;
double spread(const ir::Tensor& a, const ir::Tensor& b) {
  double largest = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const double difference = std::abs(a.f64_at(i) - b.f64_at(i));
    if (std::isfinite(difference)) largest = std::max(largest, difference);
  }
  return largest;
}

double magnitude(const ir::Tensor& a) {
  double largest = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    if (std::isfinite(a.f64_at(i))) largest = std::max(largest, std::abs(a.f64_at(i)));
  }
  return largest;
}

// Infinities must be the same infinity; NaN goes with NaN.
double distance(double expected, double got) {
  if (std::isnan(expected) || std::isnan(got)) {
    return std::isnan(expected) && std::isnan(got) ? 0 : std::numeric_limits<double>::infinity();
  }
  return expected == got ? 0 : std::abs(expected - got);
}

void compare_reals(const ir::Tensor& expected, const ir::Tensor& got, OutputError& error) {
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    const double difference = distance(expected.f64_at(i), got.f64_at(i));
    error.max_error = std::max(error.max_error, difference);
    if (difference > error.bound) ++error.wrong;
  }
}

using Runs = std::vector<std::vector<ir::Tensor>>;  // by run, then by output

void compare_integers(const ir::Tensor& expected, const Runs& disturbed, std::size_t output,
                      const ir::Tensor& got, OutputError& error) {
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    if (expected.i64_at(i) == got.i64_at(i)) continue;
    const bool unstable = std::ranges::any_of(
        disturbed, [&](const auto& run) { return run[output].i64_at(i) != expected.i64_at(i); });
    if (unstable) {
      ++error.unstable;
      continue;
    }
    ++error.wrong;
    error.max_error = std::max(error.max_error, std::abs(static_cast<double>(expected.i64_at(i)) -
                                                         static_cast<double>(got.i64_at(i))));
  }
}

double badness(const OutputError& error) {
  if (error.max_error == 0) return 0;
  return error.bound > 0 ? error.max_error / error.bound : std::numeric_limits<double>::infinity();
}

}  // namespace

std::string to_string(const CheckReport& report) {
  std::string text = "largest error " + base::format_short(report.max_error) + ", bound " +
                     base::format_short(report.bound) + (report.passed ? ", passed" : ", FAILED");
  if (!report.vacuous.empty()) {
    text += ", but shows little: '" + report.vacuous + "' is zero or not finite on these inputs";
  }
  return text;
}

base::Status mismatch_of(const CheckReport& report) {
  const auto wrong =
      std::ranges::find_if(report.outputs, [](const OutputError& e) { return e.wrong > 0; });
  return base::mismatch(
      "the optimized graph computes another '" + wrong->output +
      "': " + std::to_string(wrong->wrong) + " of " + std::to_string(wrong->elements) +
      " elements differ, by up to " + base::format_short(wrong->max_error) + " where " +
      base::format_short(wrong->bound) + " is explained by rounding; nothing is written");
}

base::Result<OutputCheck> OutputCheck::of(const ir::Graph& reference, const CheckOptions& options) {
  OutputCheck check;
  check.safety_ = options.safety;
  for (const ir::NodeId id : reference.inputs()) {
    const ir::Node& node = reference.node(id);
    if (!node.type.is_concrete()) {
      return base::usage_error("input '" + node.name + "' has the open shape " +
                               to_string(node.type) + "; give its sizes with --bind NAME=SIZE");
    }
  }
  for (int k = 0; k < options.samples; ++k) {
    base::Random random = base::Random(options.seed).split(static_cast<std::uint64_t>(k));
    EGRET_RETURN_IF_ERROR(
        check.add_sample(reference, ir::random_inputs(reference, random), options));
  }
  return check;
}

base::Result<OutputCheck> OutputCheck::of(const ir::Graph& reference,
                                          std::vector<ir::Tensor> inputs,
                                          const CheckOptions& options) {
  OutputCheck check;
  check.safety_ = options.safety;
  EGRET_RETURN_IF_ERROR(check.add_sample(reference, std::move(inputs), options));
  return check;
}

base::Result<OutputCheck::Sample> OutputCheck::evaluate(const ir::Graph& reference,
                                                        std::vector<ir::Tensor> inputs,
                                                        const CheckOptions& options) {
  ir::InterpretOptions exact;
  exact.should_stop = options.should_stop;
  ir::InterpretOptions disturbed = exact;
  disturbed.perturbation = options.roundoff;
  disturbed.sum_perturbation = std::min(options.roundoff, kF32Roundoff);  // in any precision
  Sample sample;
  EGRET_ASSIGN_OR_RETURN(sample.expected, ir::interpret(reference, inputs, exact));
  // Small graphs have few outputs, whose moves may all be small by chance: disturb them more often.
  const int repeats = arithmetic(reference) < kSmallFlops ? kSmallRepeats : 1;
  for (int k = 0; k < repeats; ++k) {
    disturbed.seed = base::hash_combine(options.seed, static_cast<std::uint64_t>(k));
    EGRET_ASSIGN_OR_RETURN(std::vector<ir::Tensor> moved,
                           ir::interpret(reference, inputs, disturbed));
    sample.disturbed.push_back(std::move(moved));
  }
  sample.inputs = std::move(inputs);
  return sample;
}

double OutputCheck::bound_of(const Sample& sample, std::size_t output) const {
  const ir::Tensor& expected = sample.expected[output];
  double moved = 0;
  for (const auto& again : sample.disturbed)
    moved = std::max(moved, spread(expected, again[output]));
  return safety_ * moved +
         kKernelUnits * roundoff(outputs_[output].type.dtype) * magnitude(expected);
}

bool OutputCheck::is_conclusive(const Sample& sample) const {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (!ir::is_float(outputs_[i].type.dtype)) continue;
    const double size = magnitude(sample.expected[i]);
    if (size > 0 && bound_of(sample, i) > kConclusive * size) return false;
  }
  return true;
}

base::Status OutputCheck::add_sample(const ir::Graph& reference, std::vector<ir::Tensor> inputs,
                                     const CheckOptions& options) {
  outputs_.clear();
  for (const auto& output : reference.outputs()) {
    outputs_.push_back({output.name, reference.node(output.node).type});
  }
  EGRET_ASSIGN_OR_RETURN(Sample sample, evaluate(reference, std::move(inputs), options));
  // The original's f32 execution says nothing of candidates that compute in less.
  if (options.roundoff <= kF32Roundoff && !is_conclusive(sample)) {
    ir::InterpretOptions rounded;
    rounded.precision = ir::Precision::kF32;
    rounded.should_stop = options.should_stop;
    EGRET_ASSIGN_OR_RETURN(std::vector<ir::Tensor> run,
                           ir::interpret(reference, sample.inputs, rounded));
    sample.disturbed.assign(1, std::move(run));
  }
  samples_.push_back(std::move(sample));
  return base::ok();
}

base::Result<CheckReport> OutputCheck::check(const Run& run) const {
  CheckReport report;
  for (const OutputInfo& output : outputs_) report.outputs.push_back({.output = output.name});
  for (const Sample& sample : samples_) {
    EGRET_ASSIGN_OR_RETURN(const std::vector<ir::Tensor> got, run(sample.inputs));
    if (got.size() != outputs_.size()) {
      return base::mismatch("the graphs have " + std::to_string(outputs_.size()) + " and " +
                            std::to_string(got.size()) + " outputs");
    }
    for (std::size_t i = 0; i < got.size(); ++i) {
      OutputError& error = report.outputs[i];
      const ir::Tensor& expected = sample.expected[i];
      if (got[i].shape() != expected.shape()) {
        return base::mismatch("output '" + error.output + "' has shape " +
                              ir::to_string(got[i].shape()) + " instead of " +
                              ir::to_string(expected.shape()));
      }
      error.elements += expected.elements();
      if (ir::is_float(outputs_[i].type.dtype)) {
        if (magnitude(expected) == 0) report.vacuous = error.output;
        error.bound = std::max(error.bound, bound_of(sample, i));
        compare_reals(expected, got[i], error);
      } else {
        compare_integers(expected, sample.disturbed, i, got[i], error);
      }
    }
  }
  report.passed =
      std::ranges::all_of(report.outputs, [](const OutputError& e) { return e.wrong == 0; });
  if (!report.outputs.empty()) {
    const auto worst = std::ranges::max_element(report.outputs, {}, badness);
    report.max_error = worst->max_error;
    report.bound = worst->bound;
  }
  return report;
}

}  // namespace egret::driver
