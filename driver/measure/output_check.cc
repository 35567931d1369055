// SPDX-License-Identifier: Apache-2.0
#include "driver/measure/output_check.h"

#include <algorithm>
#include <cmath>
#include <ranges>

#include "base/formats/units.h"
#include "base/hash.h"
#include "base/random.h"
#include "driver/measure/output_errors.h"
#include "ir/evaluate/input_draws.h"
#include "ir/evaluate/interpreter.h"
#include "ir/nest/work.h"

namespace egret::driver {
namespace {

// A result that is smaller underflows.
double smallest(ir::DType type) {
  return type == ir::DType::kF16 ? 0x1p-24 : 0x1p-126;  // kernels may flush subnormal numbers
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

// Whether reals are rounded to integers on the way: by a step of one value many elements move a
// little, and other values make that step in each run.
bool quantizes(const ir::Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const ir::Node& node) {
    if (node.kind != ir::NodeKind::kOperator) return false;
    const std::string& name = node.op->name();
    return name == "round" || name == "quantize_linear" || name == "floor" || name == "ceil";
  });
}

// The K-th of the disturbed runs, with errors of so many times the rounding.
ir::InterpretOptions disturbed_run(const CheckOptions& options, int k, double times) {
  ir::InterpretOptions run;
  run.should_stop = options.should_stop;
  run.perturbation = times * options.roundoff;
  run.sum_perturbation = times * std::min(options.roundoff, kF32Roundoff);  // in any precision
  run.seed = base::hash_combine(options.seed, static_cast<std::uint64_t>(k));
  return run;
}

base::Result<std::vector<ir::Tensor>> run_in_f32(const ir::Graph& graph,
                                                 const std::vector<ir::Tensor>& inputs,
                                                 const CheckOptions& options) {
  return ir::interpret(graph, inputs,
                       {.precision = ir::Precision::kF32, .should_stop = options.should_stop});
}

// Disturbed runs that look for elements that jump, and how many in a row may find none. As errors
// are larger there than those of rounding, what rounding can make jump does in many of them.
constexpr int kMostRuns = 16;
constexpr int kMostIdleRuns = 4;

// An output whose rounding errors may be as large as a tenth of itself shows nothing.
constexpr double kConclusive = 0.1;
// Not finite, where it should be.
bool overflows(const ir::Tensor& expected, const ir::Tensor& got, std::int64_t i) {
  return std::isfinite(expected.f64_at(i)) && !std::isfinite(got.f64_at(i));
}

std::int64_t finite_elements(const ir::Tensor& tensor) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    count += std::isfinite(tensor.f64_at(i)) ? 1 : 0;
  return count;
}

// Which output is not finite, and whether the original is; empty: all are as they should be.
std::string overflow_text(const CheckReport& report) {
  const auto found =
      std::ranges::find_if(report.outputs, [](const OutputError& e) { return e.overflowed > 0; });
  if (found == report.outputs.end()) return "";
  const std::int64_t theirs = found->original_overflowed;
  std::string original = ", and neither is the original when it computes in f32";
  if (theirs < found->overflowed) {
    original = theirs == 0 ? "; the original is finite there when it computes in f32"
                           : "; the original computed in f32 is so in " + std::to_string(theirs);
  }
  const std::string left_out = found->wrong == 0 ? ", so these are not compared" : "";
  return "'" + found->output + "' is not finite in " + base::counted(found->overflowed, "element") +
         original + left_out;
}

}  // namespace

namespace {

std::string verdict_of(const CheckReport& report) {
  if (!report.passed) return ", FAILED";
  if (report.not_told_apart.empty()) return ", passed";
  const auto output =
      std::ranges::find(report.outputs, report.not_told_apart[0], &OutputError::output);
  return ", NOT TOLD APART: rounding explains differences of up to " +
         base::format_short(output->bound) + " in '" + output->output +
         "', whose elements have a standard deviation of " + base::format_short(output->spread);
}

}  // namespace

std::string to_string(const CheckReport& report) {
  std::string text = "largest error " + base::format_short(report.max_error) + ", bound " +
                     base::format_short(report.bound) + verdict_of(report);
  if (!report.vacuous.empty()) {
    text +=
        ", but the check is weak: '" + report.vacuous + "' is zero or not finite on these inputs";
  }
  std::int64_t unstable = 0;
  for (const OutputError& error : report.outputs) unstable += error.unstable;
  if (unstable > 0) {
    text += ", except for " + base::counted(unstable, "element") + " that rounding alone can " +
            "change by as much";
  }
  if (const std::string overflow = overflow_text(report); !overflow.empty())
    text += "; " + overflow;
  if (report.shrunk > 0) text += "; on small inputs, because the original overflows on others";
  return text;
}

base::Status mismatch_of(const CheckReport& report) {
  const auto wrong =
      std::ranges::find_if(report.outputs, [](const OutputError& e) { return e.wrong > 0; });
  if (wrong->wrong_in_original() == wrong->wrong) {
    return base::mismatch("'" + wrong->output +
                          "' cannot be checked: in f32, both the original and the optimized graph "
                          "are not finite in " +
                          std::to_string(wrong->wrong) + " of " + std::to_string(wrong->elements) +
                          " elements in which the f64 reference is finite. No output was written");
  }
  const std::string overflow = overflow_text(report);
  return base::mismatch(
      "the optimized graph computes wrong values of output '" + wrong->output +
      "': " + std::to_string(wrong->wrong) + " of " + std::to_string(wrong->elements) +
      " elements differ by up to " + base::format_short(wrong->max_error) +
      ", but rounding explains at most " + base::format_short(wrong->bound) +
      (overflow.empty() ? "" : " (" + overflow + ")") + ". No output was written");
}

ir::DrawOptions sample_draws(int sample, bool any_integers, int shrunk) {
  constexpr double kBeyond = 1.0 / 16;
  constexpr double kShrink = 0x1p-7;
  if (shrunk > 0) return {.any_integers = any_integers, .scale = std::pow(kShrink, shrunk - 1)};
  return {.beyond = sample % 2 == 1 ? 1 : kBeyond, .any_integers = any_integers};
}

base::Result<OutputCheck> OutputCheck::of(const ir::Graph& reference, const CheckOptions& options) {
  OutputCheck check;
  check.reference_ = reference;
  check.options_ = options;
  for (const ir::NodeId id : reference.inputs()) {
    const ir::Node& node = reference.node(id);
    if (!node.type.is_concrete()) {
      return base::usage_error("input '" + node.name + "' has the unbound shape " +
                               to_string(node.type) + "; bind its sizes with --bind NAME=SIZE");
    }
  }
  const bool has_integers = std::ranges::any_of(reference.inputs(), [&](ir::NodeId id) {
    return ir::is_integer(reference.node(id).type.dtype);
  });
  for (int k = 0; k < options.samples; ++k) {
    const auto add = [&](bool any_integers, int attempt) {
      const auto stream = static_cast<std::uint64_t>(k + options.samples * attempt);
      base::Random random = base::Random(options.seed).split(stream);
      std::vector<ir::Tensor> inputs =
          ir::random_inputs(reference, random, sample_draws(k, any_integers, options.shrunk));
      ir::put_given(reference, options.given, inputs);
      return check.add_sample(reference, std::move(inputs), options);
    };
    base::Status added = add(true, 0);
    // Rows of a table, say, have no negative numbers, and few products of two are rows.
    constexpr int kAttempts = 4;
    for (int attempt = 0; attempt < kAttempts && has_integers; ++attempt) {
      if (added.code() != base::StatusCode::kBadInput) break;
      added = add(false, attempt);
    }
    EGRET_RETURN_IF_ERROR(added);
  }
  return check;
}

base::Result<OutputCheck> OutputCheck::of(const ir::Graph& reference,
                                          std::vector<ir::Tensor> inputs,
                                          const CheckOptions& options) {
  OutputCheck check;
  check.reference_ = reference;
  check.options_ = options;
  EGRET_RETURN_IF_ERROR(check.add_sample(reference, std::move(inputs), options));
  return check;
}

// One exact run in f64, and several runs in which each operation is disturbed by random errors of
// the size of its rounding. The differences estimate how far rounding can move the outputs.
base::Result<OutputCheck::Sample> OutputCheck::evaluate(const ir::Graph& reference,
                                                        std::vector<ir::Tensor> inputs,
                                                        const CheckOptions& options) {
  ir::InterpretOptions exact;
  exact.should_stop = options.should_stop;
  Sample sample;
  EGRET_ASSIGN_OR_RETURN(sample.expected, ir::interpret(reference, inputs, exact));
  // Small graphs have few outputs, whose moves may all be small by chance: disturb them more often.
  const int repeats = arithmetic(reference) < kSmallFlops ? kSmallRepeats : 1;
  for (int k = 0; k < repeats; ++k) {
    EGRET_ASSIGN_OR_RETURN(std::vector<ir::Tensor> moved,
                           ir::interpret(reference, inputs, disturbed_run(options, k, 1)));
    sample.disturbed.push_back(std::move(moved));
  }
  sample.inputs = std::move(inputs);
  return sample;
}

// The tolerance of an output: a safety factor times the movement under rounding, plus the error of
// approximated functions relative to the largest element. If rounding moves the output too far, the
// original's own f32 error replaces the movement.
double OutputCheck::bound_of(const Sample& sample, std::size_t output) const {
  const ir::Tensor& expected = sample.expected[output];
  double moved = 0;
  if (sample.conclusive[output]) {
    for (const auto& again : sample.disturbed)
      moved = std::max(moved, spread(expected, again[output]));
  } else {
    moved = spread(expected, sample.rounded[output]);
  }
  const ir::DType dtype = outputs_[output].type.dtype;
  return options_.safety * moved + kKernelUnits * roundoff(dtype) * magnitude(expected) +
         smallest(dtype);
}

bool OutputCheck::is_conclusive(const Sample& sample, std::size_t output) const {
  if (!ir::is_float(outputs_[output].type.dtype)) return true;
  const double size = magnitude(sample.expected[output]);
  return size == 0 || bound_of(sample, output) <= kConclusive * size;
}

base::Status OutputCheck::add_sample(const ir::Graph& reference, std::vector<ir::Tensor> inputs,
                                     const CheckOptions& options) {
  outputs_.clear();
  quantizes_ = quantizes(reference);
  for (const auto& output : reference.outputs()) {
    outputs_.push_back({output.name, reference.node(output.node).type});
  }
  EGRET_ASSIGN_OR_RETURN(Sample sample, evaluate(reference, std::move(inputs), options));
  sample.conclusive.assign(outputs_.size(), true);
  std::vector<bool> conclusive;
  for (std::size_t i = 0; i < outputs_.size(); ++i) conclusive.push_back(is_conclusive(sample, i));
  // The original's f32 execution says nothing of candidates that compute in less.
  if (options.roundoff <= kF32Roundoff &&
      std::ranges::find(conclusive, false) != conclusive.end()) {
    EGRET_ASSIGN_OR_RETURN(sample.rounded, run_in_f32(reference, sample.inputs, options));
    sample.conclusive = std::move(conclusive);
  }
  samples_.push_back(std::move(sample));
  return base::ok();
}

base::Status OutputCheck::leave_out_unstable(const Sample& sample,
                                             std::span<const ir::Tensor> expected,
                                             std::span<const ir::Tensor> got,
                                             std::vector<OutputError>& errors) const {
  std::vector<std::pair<std::size_t, Unexplained>> open;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (errors[i].wrong == 0 || !ir::is_float(outputs_[i].type.dtype)) continue;
    if (!sample.conclusive[i]) continue;  // what the original does in f32 is the bound there
    open.emplace_back(i, Unexplained(sample.expected[i], expected[i], got[i], errors[i].bound));
  }
  const auto any_open = [&] {
    return std::ranges::any_of(open, [](const auto& each) { return each.second.any(); });
  };
  const auto explain_by = [&](const std::vector<ir::Tensor>& run) {
    std::int64_t all = 0;
    for (auto& [i, elements] : open) {
      const std::int64_t explained = elements.explain_by(run[i], quantizes_);
      errors[i].wrong -= explained;
      errors[i].unstable += explained;
      all += explained;
    }
    return all;
  };
  // Each run disturbs with the safety factor and explains the elements that it moves as far as the
  // difference. The loop ends when nothing is left, after some runs in a row that explain
  // nothing, or after kMostRuns.
  int idle = 0;
  if (quantizes_ && any_open()) {  // ties of exact values fall as they do in f32
    EGRET_ASSIGN_OR_RETURN(const std::vector<ir::Tensor> run,
                           run_in_f32(reference_, sample.inputs, options_));
    explain_by(run);
  }
  // Which value makes a step is chance: a run that explains nothing says little of the next.
  const int most_idle = quantizes_ ? kMostRuns : kMostIdleRuns;
  for (int k = 0; k < kMostRuns && idle < most_idle && any_open(); ++k) {
    const int fresh = kSmallRepeats + k;  // others than the bound was made of
    EGRET_ASSIGN_OR_RETURN(
        const std::vector<ir::Tensor> run,
        ir::interpret(reference_, sample.inputs, disturbed_run(options_, fresh, options_.safety)));
    idle = explain_by(run) > 0 ? 0 : idle + 1;
  }
  for (const auto& [i, elements] : open) errors[i].max_error = elements.largest();
  return base::ok();
}

// The engine computes the original with errors of its own, which no equal graph avoids.
base::Status OutputCheck::allow_errors_of_original(const Sample& sample, const Run& run_original,
                                                   std::span<const ir::Tensor> got,
                                                   std::vector<OutputError>& errors) const {
  constexpr double kTimes = 2;
  const auto beyond = [&](std::size_t i) {
    return errors[i].wrong > 0 && ir::is_float(outputs_[i].type.dtype);
  };
  const auto outputs = std::views::iota(std::size_t{0}, got.size());
  if (!run_original || std::ranges::none_of(outputs, beyond)) return base::ok();
  const auto original = run_original(sample.inputs);
  if (!original.ok()) return base::ok();  // it explains nothing then
  for (const std::size_t i : outputs) {
    if (!beyond(i) || (*original)[i].shape() != sample.expected[i].shape()) continue;
    errors[i].bound += kTimes * spread(sample.expected[i], (*original)[i]);
    errors[i].max_error = 0;
    errors[i].wrong = 0;
    compare_reals(sample.expected[i], got[i], errors[i]);
  }
  return base::ok();
}

// Only where something overflows is the original run in f32 for it. Elements that overflow there as
// well get the expected value, unless nothing else could be compared.
base::Status OutputCheck::leave_out_overflows(const Sample& sample, std::span<ir::Tensor> got,
                                              std::vector<OutputError>& errors) const {
  std::vector<ir::Tensor> original = sample.rounded;  // where it was run already
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!ir::is_float(outputs_[i].type.dtype)) continue;
    const ir::Tensor& expected = sample.expected[i];
    std::vector<std::int64_t> in_both;
    for (std::int64_t k = 0; k < expected.elements(); ++k) {
      if (!overflows(expected, got[i], k)) continue;
      if (original.empty()) {
        EGRET_ASSIGN_OR_RETURN(original, run_in_f32(reference_, sample.inputs, options_));
      }
      ++errors[i].overflowed;
      if (overflows(expected, original[i], k)) in_both.push_back(k);
    }
    errors[i].original_overflowed = static_cast<std::int64_t>(in_both.size());
    if (errors[i].original_overflowed == finite_elements(expected)) continue;
    errors[i].left_out = errors[i].original_overflowed;
    for (const std::int64_t k : in_both) got[i].set_f64(k, expected.f64_at(k));
  }
  return base::ok();
}

base::Result<CheckReport> OutputCheck::compare(const ir::Graph& reference, CheckOptions options,
                                               const Run& run, const Run& run_original) {
  while (true) {
    EGRET_ASSIGN_OR_RETURN(const OutputCheck expected, of(reference, options));
    EGRET_ASSIGN_OR_RETURN(CheckReport report, expected.check(run, run_original));
    if (report.passed || !report.only_original_overflows() || options.shrunk == kMostShrunk)
      return report;
    ++options.shrunk;
  }
}

base::Result<CheckReport> OutputCheck::check(const Run& run, const Run& run_original) const {
  CheckReport report;
  report.shrunk = options_.shrunk;
  for (const OutputInfo& output : outputs_) report.outputs.push_back({.output = output.name});
  for (const Sample& sample : samples_) {
    EGRET_ASSIGN_OR_RETURN(std::vector<ir::Tensor> got, run(sample.inputs));
    if (got.size() != outputs_.size()) {
      return base::mismatch("the graphs have " + std::to_string(outputs_.size()) + " and " +
                            std::to_string(got.size()) + " outputs");
    }
    std::vector<OutputError> errors(got.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      errors[i].output = outputs_[i].name;
      errors[i].elements = sample.expected[i].elements();
      if (got[i].shape() != sample.expected[i].shape()) {
        return base::mismatch("output '" + outputs_[i].name + "' has shape " +
                              ir::to_string(got[i].shape()) + " instead of " +
                              ir::to_string(sample.expected[i].shape()));
      }
    }
    EGRET_RETURN_IF_ERROR(leave_out_overflows(sample, got, errors));
    for (std::size_t i = 0; i < got.size(); ++i) {
      OutputError& error = errors[i];
      const ir::Tensor& expected = sample.expected[i];
      if (ir::is_float(outputs_[i].type.dtype)) {
        // Zeros alone show nothing: any graph that loses the values would pass.
        if (magnitude(expected) == 0) report.vacuous = error.output;
        error.bound = std::max(report.outputs[i].bound, bound_of(sample, i));
        error.spread = own_spread(expected);
        compare_reals(expected, got[i], error);
      } else {
        compare_integers(expected, sample.disturbed, i, expected, got[i], error);
      }
    }
    EGRET_RETURN_IF_ERROR(allow_errors_of_original(sample, run_original, got, errors));
    EGRET_RETURN_IF_ERROR(leave_out_unstable(sample, sample.expected, got, errors));
    for (std::size_t i = 0; i < got.size(); ++i) report.outputs[i].add(errors[i]);
  }
  report.settle();
  return report;
}

}  // namespace egret::driver
